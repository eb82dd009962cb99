// How much may be watched in sandboxes: of each, of all of an owner, and of all.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <string>

#include "runtime/living/directory_watch.h"

namespace runtime {

// Not thread-safe; what it returns is.
class WatchBounds {
 public:
  static constexpr std::uint32_t max_watches = 96;  // the kernel allows a user 128 as a rule
  static constexpr std::uint32_t max_watches_of_an_owner = 64;
  static constexpr std::uint32_t max_watches_of_a_sandbox = 8;
  static constexpr std::uint32_t max_directories = 16384;
  static constexpr std::uint32_t max_directories_of_an_owner = 12288;
  static constexpr std::uint32_t max_directories_of_a_sandbox = 1024;

  // For a sandbox that is new.
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
