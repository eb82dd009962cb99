// Bounds on watches in sandboxes: for each, for all of an owner, and for all.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <string>

#include "runtime/living/directory_watch.h"

namespace runtime {

// Not thread-safe; the objects that it returns are.
class WatchBounds {
 public:
  static constexpr std::uint32_t max_watches = 96;  // the kernel usually allows a user 128
  static constexpr std::uint32_t max_watches_of_an_owner = 64;
  static constexpr std::uint32_t max_watches_of_a_sandbox = 8;
  static constexpr std::uint32_t max_directories = 16384;
  static constexpr std::uint32_t max_directories_of_an_owner = 12288;
  static constexpr std::uint32_t max_directories_of_a_sandbox = 1024;

  // The bounds for a new sandbox.
  DirectoryWatch::Bounds of_a_sandbox(const std::string& owner) {
    const Rooms& own = of_owners_
                           .try_emplace(owner, Rooms{room(max_watches_of_an_owner),
                                                     room(max_directories_of_an_owner)})
                           .first->second;
    return {.watches = {room(max_watches_of_a_sandbox), own.watches, all_.watches},
            .directories = {room(max_directories_of_a_sandbox), own.directories, all_.directories}};
  }

 private:
  struct Rooms {
    std::shared_ptr<WatchRoom> watches;
    std::shared_ptr<WatchRoom> directories;
  };

  static std::shared_ptr<WatchRoom> room(std::uint32_t most) {
    return std::make_shared<WatchRoom>(most);
  }

  const Rooms all_{room(max_watches), room(max_directories)};
  std::map<std::string, Rooms, std::less<>> of_owners_;
};

}  // namespace runtime
