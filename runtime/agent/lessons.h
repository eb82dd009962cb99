// What worked and what failed in earlier tasks, to be found again for a similar task.
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
  std::string id;      // assigned by the store
  std::string task;    // what the task was
  std::string error;   // what failed first; empty where the first attempt passed
  std::string advice;  // what made the program pass
  std::string code;    // the code that passed; bounded by the store
  std::chrono::system_clock::time_point learnt;
  std::uint32_t seen = 1;  // how often the same lesson was learnt
};

struct LessonPage {
  std::vector<Lesson> lessons;  // newest first
  std::optional<std::string> next_cursor;
};

// Thread-safe. `owner` is as in JobStart: nobody sees the lessons of another owner.
class LessonStore {
 public:
  virtual ~LessonStore() = default;

  // Returns the best matches first; an empty list is not an error. `cancel` ends a wait for another
  // machine, here and in the functions below; its hook is in use meanwhile.
  virtual boost::asio::awaitable<jail::Result<std::vector<Lesson>>> recall(std::string owner,
                                                                           std::string task,
                                                                           std::uint32_t limit,
                                                                           Cancel cancel) = 0;
  // Adds a lesson. One that is there already is counted, not kept twice; the oldest lessons beyond
  // the store's bound are dropped.
  virtual boost::asio::awaitable<jail::Result<void>> learn(std::string owner, Lesson lesson,
                                                           Cancel cancel) = 0;
  virtual boost::asio::awaitable<jail::Result<LessonPage>> list(
      std::string owner, std::uint32_t limit, std::optional<std::string> cursor) = 0;
  // Erases the lesson with this id, or all of the owner. Returns how many were erased.
  virtual boost::asio::awaitable<jail::Result<std::uint64_t>> erase(
      std::string owner, std::optional<std::string> id) = 0;
};

}  // namespace runtime::agent
