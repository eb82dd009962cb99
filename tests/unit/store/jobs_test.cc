#include "runtime/store/jobs.h"

#include <gmock/gmock.h>

#include <boost/asio/co_spawn.hpp>
#include <boost/asio/thread_pool.hpp>
#include <boost/asio/use_future.hpp>
#include <thread>

#include "runtime/store/job_place.h"

namespace runtime {
namespace {

namespace asio = boost::asio;
using ::testing::HasSubstr;

class JobsTest : public ::testing::Test {
 protected:
  template <class Value>
  Value get(asio::awaitable<Value> awaitable) {
    std::optional<Value> value;
    asio::co_spawn(pool_, store(std::move(awaitable), value), asio::use_future).get();
    return std::move(*value);
  }

  template <class Value>
  static asio::awaitable<void> store(asio::awaitable<Value> awaitable,
                                     std::optional<Value>& value) {
    value.emplace(co_await std::move(awaitable));
  }

  void begin(const std::string& id, const std::string& owner = "", Cancel cancel = {}) {
    JobStart start;
    start.id = id;
    start.owner = owner;
    start.created = std::chrono::system_clock::now();
    asio::co_spawn(pool_, jobs_.begin(std::move(start), std::move(cancel)), asio::use_future).get();
  }

  static JobEnd end_of(const std::string& status) {
    JobEnd end;
    end.status = status;
    end.result = "{}";
    end.finished = std::chrono::system_clock::now();
    return end;
  }

  std::string status_of(const std::string& id) {
    const auto record = get(jobs_.find(id, std::nullopt));
    return record && *record ? (*record)->summary.status : "none";
  }

  asio::thread_pool pool_{2};
  std::vector<std::string> lines_;
  Logger logger_{{.level = LogLevel::debug,
                  .format = LogFormat::text,
                  .write = [this](std::string_view line) { lines_.emplace_back(line); }}};
  Jobs jobs_{*JobTable::open(in_memory, {}), logger_};
};

TEST_F(JobsTest, AJobFromItsBeginningToItsEnd) {
  begin("a");
  EXPECT_EQ(status_of("a"), "running");
  jobs_.end("a", end_of("success"));
  EXPECT_EQ(status_of("a"), "success");
  EXPECT_EQ(jobs_.errors(), 0u);
}

TEST_F(JobsTest, OneThatWasNotTakenIsForgotten) {
  begin("a");
  jobs_.forget("a");
  EXPECT_EQ(status_of("a"), "none");
}

TEST_F(JobsTest, OnlyTheOwnerCancels) {
  const Cancel cancel;
  begin("a", "me", cancel);
  EXPECT_EQ(*get(jobs_.cancel("a", "you")), Jobs::Cancelled::unknown);
  EXPECT_FALSE(cancel.requested());
  EXPECT_EQ(*get(jobs_.cancel("a", "me")), Jobs::Cancelled::asked);
  EXPECT_TRUE(cancel.requested());
  jobs_.end("a", end_of("cancelled"));
  EXPECT_EQ(*get(jobs_.cancel("a", "me")), Jobs::Cancelled::over);
  EXPECT_EQ(*get(jobs_.cancel("b", "me")), Jobs::Cancelled::unknown);
}

TEST_F(JobsTest, WhatCannotBeWrittenIsCountedAndSaidOnce) {
  begin("a");
  begin("a");
  begin("a");
  EXPECT_EQ(jobs_.errors(), 2u);
  EXPECT_EQ(lines_.size(), 1u);
  EXPECT_THAT(lines_[0], HasSubstr("cannot be stored"));
  begin("b");
  EXPECT_EQ(status_of("b"), "running");
}

TEST_F(JobsTest, NoneSeemsToRunForEver) {
  begin("a");
  jobs_.end("a", end_of("success"));
  begin("a");                // its row cannot be written
  jobs_.end("a", JobEnd());  // and changes nothing
  EXPECT_EQ(status_of("a"), "success");
}

TEST_F(JobsTest, ManyAtOnce) {
  constexpr int threads = 8;
  constexpr int each = 100;
  std::vector<std::thread> workers;
  for (int t = 0; t < threads; ++t) {
    workers.emplace_back([this, t] {
      for (int i = 0; i < each; ++i) {
        const std::string id = std::to_string(t) + "-" + std::to_string(i);
        begin(id);
        EXPECT_EQ(status_of(id), "running");
        jobs_.end(id, end_of("success"));
        EXPECT_EQ(status_of(id), "success");
      }
    });
  }
  for (auto& worker : workers) worker.join();
  JobQuery query;
  query.limit = threads * each + 1;
  EXPECT_EQ(get(jobs_.list(query))->jobs.size(), std::size_t{threads * each});
  EXPECT_EQ(jobs_.errors(), 0u);
}

TEST(JobOwners, AreTheSameForOneFileAndSayNothingOfTheKey) {
  Logger logger({.level = LogLevel::error, .format = LogFormat::text, .write = {}});
  const Jobs jobs(*JobTable::open(in_memory, {}), logger);
  const Jobs others(*JobTable::open(in_memory, {}), logger);
  EXPECT_EQ(jobs.owner_of("key"), jobs.owner_of("key"));
  EXPECT_NE(jobs.owner_of("key"), jobs.owner_of("kez"));
  EXPECT_NE(jobs.owner_of("key"), others.owner_of("key"));
}

}  // namespace
}  // namespace runtime
