// Lessons in a SQLite file on this machine, found again by their words.
#pragma once

#include <condition_variable>
#include <cstdint>
#include <functional>
#include <mutex>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include "runtime/agent/lessons.h"
#include "runtime/lessons/lesson_table.h"

namespace runtime::lessons {

// Thread-safe. A thread of its own reads and writes, so a slow disk delays only the caller that
// waits. The executors on which it is awaited must outlive it. Its destructor completes the
// requests that were made before.
class SqliteLessons final : public agent::LessonStore {
 public:
  explicit SqliteLessons(LessonTable table);
  ~SqliteLessons() override;
  SqliteLessons(const SqliteLessons&) = delete;
  SqliteLessons& operator=(const SqliteLessons&) = delete;

  boost::asio::awaitable<jail::Result<std::vector<agent::Lesson>>> recall(std::string owner,
                                                                          std::string task,
                                                                          std::uint32_t limit,
                                                                          Cancel cancel) override;
  boost::asio::awaitable<jail::Result<void>> learn(std::string owner, agent::Lesson lesson,
                                                   Cancel cancel) override;
  boost::asio::awaitable<jail::Result<agent::LessonPage>> list(
      std::string owner, std::uint32_t limit, std::optional<std::string> cursor) override;
  boost::asio::awaitable<jail::Result<std::uint64_t>> erase(std::string owner,
                                                            std::optional<std::string> id) override;

 private:
  using Work = std::function<void(LessonTable&)>;

  void add(Work work);
  void work_off();
  template <class Value>
  boost::asio::awaitable<jail::Result<Value>> ask(
      std::function<jail::Result<Value>(LessonTable&)> question);

  LessonTable table_;  // used by the thread alone, after the constructor
  std::mutex mutex_;
  std::condition_variable changed_;
  std::vector<Work> waiting_;
  bool closing_ = false;
  std::thread thread_;
};

}  // namespace runtime::lessons
