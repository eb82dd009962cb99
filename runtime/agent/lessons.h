// Stores what worked and what failed in earlier tasks, so that a similar task can find it.
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
  std::string task;    // the text of the earlier task
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

// Thread-safe. `owner` is as in JobStart: nobody sees the lessons of another owner. `cancel` ends
// the wait for a store on another machine (Qdrant).
class LessonStore {
 public:
  virtual ~LessonStore() = default;

  // Returns the lessons that match `task`, the best match first; an empty list is not an error.
  virtual boost::asio::awaitable<jail::Result<std::vector<Lesson>>> recall(std::string owner,
                                                                           std::string task,
                                                                           std::uint32_t limit,
                                                                           Cancel cancel) = 0;
  // Adds a lesson. A lesson that the store has already is counted in `seen` and not kept twice.
  // Lessons beyond the store's bound are dropped, first those that were seen least.
  virtual boost::asio::awaitable<jail::Result<void>> learn(std::string owner, Lesson lesson,
                                                           Cancel cancel) = 0;
  virtual boost::asio::awaitable<jail::Result<LessonPage>> list(
      std::string owner, std::uint32_t limit, std::optional<std::string> cursor) = 0;
  // Erases the owner's lesson with this id, or all of them where there is no id. Returns the number
  // of erased lessons.
  virtual boost::asio::awaitable<jail::Result<std::uint64_t>> erase(
      std::string owner, std::optional<std::string> id) = 0;
};

}  // namespace runtime::agent
