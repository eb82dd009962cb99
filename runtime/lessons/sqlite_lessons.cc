#include "runtime/lessons/sqlite_lessons.h"

#include <boost/asio/async_result.hpp>
#include <boost/asio/dispatch.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <memory>
#include <utility>

namespace runtime::lessons {

namespace asio = boost::asio;
using agent::Lesson;
using agent::LessonPage;
using asio::awaitable;
using jail::Result;

SqliteLessons::SqliteLessons(LessonTable table)
    : table_(std::move(table)), thread_([this] { work_off(); }) {}

SqliteLessons::~SqliteLessons() {
  {
    const std::lock_guard lock(mutex_);
    closing_ = true;
  }
  changed_.notify_one();
  thread_.join();
}

void SqliteLessons::add(Work work) {
  {
    const std::lock_guard lock(mutex_);
    waiting_.push_back(std::move(work));
  }
  changed_.notify_one();
}

void SqliteLessons::work_off() {
  for (;;) {
    std::vector<Work> batch;
    {
      std::unique_lock lock(mutex_);
      changed_.wait(lock, [this] { return closing_ || !waiting_.empty(); });
      if (waiting_.empty()) return;
      batch.swap(waiting_);
    }
    for (Work& work : batch) work(table_);
  }
}

// The answer goes to the caller's executor; only the query runs on the thread.
template <class Value>
awaitable<Result<Value>> SqliteLessons::ask(std::function<Result<Value>(LessonTable&)> question) {
  co_return co_await asio::async_initiate<const asio::use_awaitable_t<>, void(Result<Value>)>(
      [this](auto handler, std::function<Result<Value>(LessonTable&)> what) {
        const auto shared = std::make_shared<decltype(handler)>(std::move(handler));
        add([shared, what = std::move(what)](LessonTable& table) {
          Result<Value> value = what(table);
          const auto executor = asio::get_associated_executor(*shared);
          asio::dispatch(executor, [shared, value = std::move(value)]() mutable {
            std::move (*shared)(std::move(value));
          });
        });
      },
      asio::use_awaitable, std::move(question));
}

awaitable<Result<std::vector<Lesson>>> SqliteLessons::recall(std::string owner, std::string task,
                                                             std::uint32_t limit, Cancel) {
  std::function<Result<std::vector<Lesson>>(LessonTable&)> question =
      [owner = std::move(owner), task = std::move(task), limit](LessonTable& table) {
        return table.recall(owner, task, limit);
      };
  co_return co_await ask<std::vector<Lesson>>(std::move(question));
}

awaitable<Result<void>> SqliteLessons::learn(std::string owner, Lesson lesson, Cancel) {
  std::function<Result<void>(LessonTable&)> question =
      [owner = std::move(owner), lesson = std::move(lesson)](LessonTable& table) {
        return table.learn(owner, lesson);
      };
  co_return co_await ask<void>(std::move(question));
}

awaitable<Result<LessonPage>> SqliteLessons::list(std::string owner, std::uint32_t limit,
                                                  std::optional<std::string> cursor) {
  std::function<Result<LessonPage>(LessonTable&)> question =
      [owner = std::move(owner), limit, cursor = std::move(cursor)](LessonTable& table) {
        return table.list(owner, limit, cursor);
      };
  co_return co_await ask<LessonPage>(std::move(question));
}

awaitable<Result<std::uint64_t>> SqliteLessons::erase(std::string owner,
                                                      std::optional<std::string> id) {
  std::function<Result<std::uint64_t>(LessonTable&)> question =
      [owner = std::move(owner), id = std::move(id)](LessonTable& table) {
        return table.erase(owner, id);
      };
  co_return co_await ask<std::uint64_t>(std::move(question));
}

}  // namespace runtime::lessons
