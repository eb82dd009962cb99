// What worked and what failed in earlier tasks, found again when a similar task comes.
#pragma once

#include <boost/asio/awaitable.hpp>
#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "jail/result.h"
#include "runtime/sandbox/cancel.h"

namespace runtime::agent {

struct Lesson {
  std::string id;      // made by the store
  std::string task;    // what was to be done
  std::string error;   // what failed first; empty where the first attempt passed
  std::string advice;  // what made it pass
  std::string code;    // that passed; bounded by the store
  std::chrono::system_clock::time_point learnt;
  std::uint32_t seen = 1;  // how often the same was learnt
};

struct LessonPage {
  std::vector<Lesson> lessons;  // newest first
  std::optional<std::string> next_cursor;
};

// Thread-safe. `owner` as in JobStart: nobody sees the lessons of another owner.
class LessonStore {
 public:
  virtual ~LessonStore() = default;

  // The best matches first; none is no error. `cancel` ends a wait for another machine, here and
  // below; its hook is taken meanwhile.
  virtual boost::asio::awaitable<jail::Result<std::vector<Lesson>>> recall(std::string owner,
                                                                           std::string task,
                                                                           std::uint32_t limit,
                                                                           Cancel cancel) = 0;
  // One that is there already is counted, not kept twice; the oldest go beyond the store's bound.
  virtual boost::asio::awaitable<jail::Result<void>> learn(std::string owner, Lesson lesson,
                                                           Cancel cancel) = 0;
  virtual boost::asio::awaitable<jail::Result<LessonPage>> list(
      std::string owner, std::uint32_t limit, std::optional<std::string> cursor) = 0;
  // How many went: the one with this id, or all of the owner.
  virtual boost::asio::awaitable<jail::Result<std::uint64_t>> erase(
      std::string owner, std::optional<std::string> id) = 0;
};

}  // namespace runtime::agent
