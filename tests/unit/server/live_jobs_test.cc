#include "runtime/service/live_jobs.h"

#include <gmock/gmock.h>

#include <memory>
#include <string>
#include <vector>

namespace runtime {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

class Recorder final : public JobWatcher {
 public:
  void on_start() override { heard.emplace_back("start"); }
  void on_output(Stream, std::string_view bytes) override { heard.emplace_back(bytes); }
  void on_event(const agent::Event& event) override { heard.push_back(event.data); }
  void on_end() override { heard.emplace_back("end"); }

  std::vector<std::string> heard;
};

class LiveJobsTest : public ::testing::Test {
 protected:
  LiveJob::Identity identity() const { return {execution_, owner_, "code", "python"}; }

  const Execution execution_ = make_execution();
  const std::string owner_ = "me";
  LiveJobs jobs_;
  std::shared_ptr<Recorder> watcher_ = std::make_shared<Recorder>();
};

TEST_F(LiveJobsTest, AWatcherHearsWhatHappensFromNowOn) {
  RunOptions options;
  std::vector<std::string> passed_on;
  options.on_output = [&](Stream, std::string_view bytes) { passed_on.emplace_back(bytes); };
  std::unique_ptr<LiveJobs::Watch> watch;
  {
    LiveJob job(jobs_, identity());
    job.listen_to(options);
    options.on_output(Stream::standard_output, "before");
    watch = jobs_.watch(execution_.id, owner_, watcher_);
    ASSERT_NE(watch, nullptr);
    EXPECT_EQ(watch->found.language, "python");
    EXPECT_FALSE(watch->found.has_started);
    options.on_start();
    options.on_output(Stream::standard_output, "after");
  }
  EXPECT_THAT(watcher_->heard, ElementsAre("start", "after", "end"));
  EXPECT_THAT(passed_on, ElementsAre("before", "after"));
}

TEST_F(LiveJobsTest, AWatcherThatLeftHearsNothing) {
  RunOptions options;
  LiveJob job(jobs_, identity());
  job.listen_to(options);
  jobs_.watch(execution_.id, owner_, watcher_).reset();
  options.on_output(Stream::standard_output, "x");
  EXPECT_THAT(watcher_->heard, IsEmpty());
}

TEST_F(LiveJobsTest, AJobIsItsOwnersAlone) {
  const LiveJob job(jobs_, identity());
  EXPECT_EQ(jobs_.watch(execution_.id, "you", watcher_), nullptr);
  EXPECT_EQ(jobs_.watch("another id", owner_, watcher_), nullptr);
  EXPECT_NE(jobs_.watch(execution_.id, std::nullopt, watcher_), nullptr);
}

TEST_F(LiveJobsTest, ASignalIsForTheProgramOfItsOwner) {
  using Signalled = LiveJobs::Signalled;
  RunOptions options;
  EXPECT_EQ(jobs_.signal(execution_.id, owner_, 2), Signalled::unknown);
  {
    LiveJob job(jobs_, identity());
    EXPECT_EQ(jobs_.signal(execution_.id, owner_, 2), Signalled::no_program);
    job.listen_to(options);
    EXPECT_EQ(jobs_.signal(execution_.id, "another", 2), Signalled::unknown);
    EXPECT_EQ(jobs_.signal(execution_.id, owner_, 2), Signalled::sent);
    EXPECT_EQ(jobs_.signal(execution_.id, std::nullopt, 15), Signalled::sent);
  }
  EXPECT_EQ(jobs_.signal(execution_.id, owner_, 2), Signalled::unknown);
  EXPECT_THAT(options.signals->take(), ElementsAre(2, 15));
}

TEST_F(LiveJobsTest, SignalsThatWaitAreBounded) {
  RunOptions options;
  LiveJob job(jobs_, identity());
  job.listen_to(options);
  for (int i = 0; i < 1000; ++i) jobs_.signal(execution_.id, owner_, 2);
  EXPECT_LE(options.signals->take().size(), 64u);
}

TEST_F(LiveJobsTest, ATaskStartsWithItsFirstStep) {
  agent::TaskOptions options;
  LiveJob job(jobs_, identity());
  job.listen_to(options);
  const auto watch = jobs_.watch(execution_.id, owner_, watcher_);
  options.on_event({agent::EventType::generating, "one"});
  options.on_event({agent::EventType::token, "two"});
  EXPECT_THAT(watcher_->heard, ElementsAre("start", "one", "two"));
  EXPECT_TRUE(jobs_.watch(execution_.id, owner_, watcher_)->found.has_started);
}

// In whatever order jobs end, the others are still found.
TEST_F(LiveJobsTest, JobsEndInAnyOrder) {
  for (int first = 0; first < 3; ++first) {
    std::vector<Execution> executions;
    for (int i = 0; i < 3; ++i) executions.push_back(make_execution());
    std::vector<std::unique_ptr<LiveJob>> jobs;
    for (const Execution& execution : executions) {
      jobs.push_back(
          std::make_unique<LiveJob>(jobs_, LiveJob::Identity{execution, owner_, "code", "python"}));
    }
    jobs[static_cast<std::size_t>(first)].reset();
    for (int i = 0; i < 3; ++i) {
      const auto watch = jobs_.watch(executions[static_cast<std::size_t>(i)].id, owner_, watcher_);
      EXPECT_EQ(watch == nullptr, i == first) << i << " " << first;
    }
  }
}

}  // namespace
}  // namespace runtime
