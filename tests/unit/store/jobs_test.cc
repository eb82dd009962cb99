#include "runtime/store/jobs.h"

#include <gmock/gmock.h>
#include <sys/resource.h>
#include <unistd.h>

#include <atomic>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/thread_pool.hpp>
#include <boost/asio/use_future.hpp>
#include <csignal>
#include <filesystem>
#include <optional>
#include <thread>

#include "runtime/store/job_place.h"

namespace runtime {
namespace {

namespace asio = boost::asio;
using namespace std::chrono_literals;
using ::testing::ElementsAre;
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
    jobs_.begin(std::move(start), std::move(cancel));
  }

  static JobEnd end_of(const std::string& status) {
    JobEnd end;
    end.status = status;
    end.record = "{}";
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
  Jobs jobs_{*JobTable::open(in_memory, {}), logger_, 0s};
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
  EXPECT_EQ(status_of("a"), "running");  // asked after they were tried
  EXPECT_EQ(jobs_.errors(), 2u);
  EXPECT_THAT(lines_, ElementsAre(HasSubstr("cannot be stored")));
  begin("b");
  EXPECT_EQ(status_of("b"), "running");
  EXPECT_THAT(lines_, ElementsAre(HasSubstr("cannot be stored"), HasSubstr("stored again")));
}

TEST_F(JobsTest, NoneSeemsToRunForEver) {
  begin("a");
  jobs_.end("a", end_of("success"));
  begin("a");                // its row cannot be written
  jobs_.end("a", JobEnd());  // and changes nothing
  EXPECT_EQ(status_of("a"), "success");
}

// Jobs begin between the moment of a request and the moment at which the table is read.
TEST_F(JobsTest, OneThatRunsIsNeverCalledFailed) {
  for (int i = 0; i < 2000; ++i) begin("before-" + std::to_string(i));
  std::atomic<bool> goes_on{true};
  std::thread begins([&] {
    for (int i = 0; i < 2000; ++i) {
      begin(std::to_string(i));
      if (i % 20 == 0) std::this_thread::sleep_for(1ms);
    }
    goes_on = false;
  });
  std::size_t seen = 0;
  while (goes_on) {
    JobQuery query;
    query.limit = 50;
    const auto page = get(jobs_.list(query));
    EXPECT_TRUE(page);
    if (!page) break;
    for (const JobSummary& job : page->jobs) EXPECT_EQ(job.status, job_running) << job.id;
    seen += page->jobs.size();
  }
  begins.join();
  EXPECT_GT(seen, 0u);
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

// A disk that takes nothing beyond a size, simulated by the kernel's own limit for files.
class FullDisk {
 public:
  explicit FullDisk(rlim_t bytes) : handler_(::signal(SIGXFSZ, SIG_IGN)) {
    EXPECT_EQ(::getrlimit(RLIMIT_FSIZE, &before_), 0);
    const rlimit limit{bytes, before_.rlim_max};
    EXPECT_EQ(::setrlimit(RLIMIT_FSIZE, &limit), 0);
  }
  ~FullDisk() {
    EXPECT_EQ(::setrlimit(RLIMIT_FSIZE, &before_), 0);
    ::signal(SIGXFSZ, handler_);
  }

 private:
  rlimit before_{};
  void (*handler_)(int);
};

class JobsOnDisk : public JobsTest {
 protected:
  JobsOnDisk() {
    std::string name = (std::filesystem::temp_directory_path() / "jobs.XXXXXX").string();
    EXPECT_NE(::mkdtemp(name.data()), nullptr);
    directory_ = name;
    open(0s);
  }
  void open(std::chrono::seconds calm) {
    stored_.reset();
    stored_.emplace(*JobTable::open(directory_ + "/jobs.sqlite", {}), logger_, calm);
  }
  ~JobsOnDisk() override {
    stored_.reset();
    std::filesystem::remove_all(directory_);
  }

  JobSummary run(const std::string& id, std::size_t result_bytes) {
    JobStart start;
    start.id = id;
    start.created = std::chrono::system_clock::now();
    stored_->begin(std::move(start), Cancel());
    JobEnd end = end_of("success");
    end.record = std::string(result_bytes, 'x');
    stored_->end(id, std::move(end));
    const auto record = get(stored_->find(id, std::nullopt));
    return record && *record ? (*record)->summary : JobSummary();
  }

  std::string directory_;
  std::optional<Jobs> stored_;
};

TEST_F(JobsOnDisk, AFullDiskIsSurvivedCountedAndSaid) {
  EXPECT_EQ(run("before", 100'000).status, "success");
  {
    const FullDisk full(400'000);
    const JobSummary lost = run("lost", 2'000'000);
    EXPECT_EQ(lost.status, "failed");
    EXPECT_THAT(lost.error, HasSubstr("could not be stored"));
    EXPECT_GE(stored_->errors(), 1u);
  }
  EXPECT_EQ(run("after", 100'000).status, "success");
  EXPECT_EQ((*get(stored_->find("before", std::nullopt)))->summary.status, "success");
  EXPECT_THAT(lines_, ElementsAre(HasSubstr("cannot be stored"), HasSubstr("stored again")));
}

// Rows of programs that begin still fit, but those of their ends do not.
TEST_F(JobsOnDisk, AFullDiskIsSaidOnceHoweverManySmallRowsItTakes) {
  open(std::chrono::hours(1));
  const FullDisk full(400'000);
  for (int i = 0; i < 5; ++i) EXPECT_EQ(run(std::to_string(i), 2'000'000).status, "failed");
  EXPECT_EQ(stored_->errors(), 5u);
  EXPECT_THAT(lines_, ElementsAre(HasSubstr("cannot be stored")));
}

TEST_F(JobsOnDisk, ADurableEndIsCommittedWhenItHasSettled) {
  stored_.reset();
  const std::string path = directory_ + "/jobs.sqlite";
  stored_.emplace(*JobTable::open(path, {.durable = true}), logger_);
  for (const char* id : {"first", "second"}) {
    JobStart start;
    start.id = id;
    start.created = std::chrono::system_clock::now();
    stored_->begin(std::move(start), Cancel());
    stored_->end(id, end_of("success"));
  }
  asio::co_spawn(pool_, stored_->settle(), asio::use_future).get();
  // The state that another process would find if this one were killed now.
  const std::string copy = directory_ + "/copy.sqlite";
  std::filesystem::copy_file(path, copy);
  std::filesystem::copy_file(path + "-wal", copy + "-wal");
  auto table = JobTable::open(copy, {});
  ASSERT_TRUE(table) << table.error().message();
  EXPECT_EQ(table->found_running(), 0u);
  for (const char* id : {"first", "second"}) {
    const auto record = table->find(id, std::nullopt);
    ASSERT_TRUE(record && *record) << id;
    EXPECT_EQ((*record)->summary.status, "success");
  }
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
