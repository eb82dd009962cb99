#include "runtime/sandbox/outcome.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <signal.h>

#include <chrono>
#include <string>

#include "runtime/sandbox/run_request.h"

namespace runtime {
namespace {

using namespace std::chrono_literals;
using jail::Ended;
using jail::ExitReport;

const Ceilings ceilings{.timeout = 60s, .memory_limit_mb = 2048};

Outcome of(const ExitReport& report, const RunRequest& request = {}) {
  return outcome_of(request, report, request.timeout, ceilings);
}

TEST(Outcomes, EachEndHasACodeAndACause) {
  const struct {
    ExitReport report;
    std::string code;
    std::string cause;
  } cases[] = {
      {{.ended = Ended::exited, .exit_code = 0}, "success", "the program ended with exit status 0"},
      {{.ended = Ended::exited, .exit_code = 3},
       "exit_status",
       "the program ended with exit status 3"},
      {{.ended = Ended::signaled, .signal = SIGSEGV}, "signal", "the program died of SIGSEGV"},
      {{.ended = Ended::signaled, .signal = SIGRTMIN + 2},
       "signal",
       "the program died of SIGRTMIN+2"},
      {{.ended = Ended::violation, .signal = SIGSYS},
       "policy_violation",
       "the program made a system call that is forbidden here"},
      {{.ended = Ended::killed, .signal = SIGKILL},
       "killed",
       "the program was killed from outside of its jail"},
      {{.ended = Ended::cancelled}, "cancelled", "the program was cancelled"},
  };
  for (const auto& each : cases) {
    const Outcome outcome = of(each.report);
    EXPECT_EQ(outcome.code, each.code);
    EXPECT_EQ(outcome.cause, each.cause);
    EXPECT_FALSE(outcome.met);
    EXPECT_EQ(remedy_of(outcome), "");
  }
}

TEST(Outcomes, ADeadlineSaysWhatWasAllowedAndUsed) {
  RunRequest request;
  request.timeout = 1500ms;
  const Outcome outcome = of({.ended = Ended::timed_out, .phases = {.ran = 1'501'250us}}, request);
  EXPECT_EQ(outcome.code, "timeout_wall");
  EXPECT_EQ(outcome.cause, "the program did not end within the 1.5 s that it may run");
  EXPECT_EQ(outcome.met, RequestLimit::time);
  EXPECT_EQ(outcome.limit, 1.5);
  EXPECT_EQ(outcome.used, 1.50125);
  EXPECT_EQ(remedy_of(outcome), "raise timeout_seconds, up to 60");
  EXPECT_EQ(remedy_of(outcome, {.time = "--timeout"}), "raise --timeout, up to 60");
}

TEST(Outcomes, ProcessorTimeThatIsUsedUpIsNoDeadline) {
  RunRequest request;
  request.timeout = 60s;
  const ExitReport report = {.ended = Ended::timed_out,
                             .usage = {.cpu_user = 29s, .cpu_system = 2s},
                             .phases = {.ran = 8s}};
  const Outcome outcome = outcome_of(request, report, 30s, ceilings);
  EXPECT_EQ(outcome.code, "timeout_cpu");
  EXPECT_EQ(outcome.cause, "the program used up the 30 s of processor time that it may use");
  EXPECT_EQ(outcome.limit, 30);
  EXPECT_EQ(outcome.used, 31);
  EXPECT_EQ(remedy_of(outcome), "timeout_seconds is at its maximum: let the program do less");
}

TEST(Outcomes, MemorySaysHowMuchMoreThereCouldBe) {
  RunRequest request;
  request.memory_limit_mb = 256;
  ExitReport report = {.ended = Ended::out_of_memory,
                       .usage = {.memory_peak_bytes = (256u << 20) + (5u << 10)}};
  Outcome outcome = of(report, request);
  EXPECT_EQ(outcome.code, "out_of_memory");
  EXPECT_EQ(outcome.met, RequestLimit::memory);
  EXPECT_EQ(outcome.limit, 256);
  EXPECT_EQ(outcome.used, 256);
  EXPECT_EQ(remedy_of(outcome), "raise memory_limit_mb, up to 2048");
  EXPECT_EQ(outcome.cause,
            "the program, its processes and its files needed more than the 256 MB of memory that "
            "they may have");
  report.usage.processes_at_memory_limit = 1;
  EXPECT_THAT(of(report, request).cause, testing::EndsWith("they may have, in 1 process"));
  report.usage.processes_at_memory_limit = 3;
  EXPECT_THAT(of(report, request).cause, testing::EndsWith("they may have, in 3 processes"));
  request.memory_limit_mb = 2048;
  outcome = of(report, request);
  EXPECT_EQ(remedy_of(outcome), "memory_limit_mb is at its maximum: let the program do less");
}

}  // namespace
}  // namespace runtime
