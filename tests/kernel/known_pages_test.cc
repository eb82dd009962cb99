// The pages that a fork of a zygote writes to: made its own in few calls, and fewer where it
// allocates apart from the zygote's objects. A kernel that counts page faults for nobody leaves
// these tests out.
#include <gmock/gmock.h>
#include <linux/perf_event.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "faults.h"
#include "tests/driven_pool.h"

namespace kernel_ring {
namespace {

using jail::ForkOptimizations;
using jail::Optimization;

jail::Fd counter_of_page_faults() {
  perf_event_attr attributes{};
  attributes.type = PERF_TYPE_SOFTWARE;
  attributes.size = sizeof attributes;
  attributes.config = PERF_COUNT_SW_PAGE_FAULTS;
  attributes.inherit = 1;
  attributes.exclude_kernel = 1;
  return jail::Fd(static_cast<int>(
      ::syscall(SYS_perf_event_open, &attributes, 0, -1, -1, PERF_FLAG_FD_CLOEXEC)));
}

std::uint64_t value_of(const jail::Fd& counter) {
  std::uint64_t value = 0;
  EXPECT_EQ(::read(counter.get(), &value, sizeof value), static_cast<ssize_t>(sizeof value));
  return value;
}

// The page faults of jails that nobody waits for, in all processes that it takes to make and to run
// them. The count of a process is added when it has ended.
std::uint64_t faults_of(const jail::Fd& counter, const ForkOptimizations& optimizations) {
  constexpr int jails = 20;
  auto launcher = start_launcher();
  EXPECT_TRUE(launcher) << launcher.error().message();
  jail::TemplateSpec spec;
  spec.name = "python";
  spec.jail = spec_for({"/usr/bin/python3", "/workspace/main.py"});
  spec.optimizations = optimizations;
  DrivenPool pool(*launcher, std::move(spec), {.least = 1, .usual = 1, .most = 1});
  std::uint64_t begun = 0;
  for (int i = 0; i < jails; ++i) {
    EXPECT_TRUE(pool.until_ready()) << pool->state().trouble;
    if (i == 0) begun = value_of(counter);
    auto jail = pool->lease();
    EXPECT_TRUE(jail) << jail.error().message();
    EXPECT_TRUE(jail->write_file("main.py", "print(6*7)", 0644));
    EXPECT_TRUE(jail->start());
    EXPECT_EQ(collect(*jail).out, "42\n");
  }
  return value_of(counter) - begun;
}

// A bound that only holds where the pages of a program's end are among them.
void expect_known_pages_count() {
  const jail::Fd counter = counter_of_page_faults();
  ForkOptimizations optimizations;
  const std::uint64_t with = faults_of(counter, optimizations);
  optimizations.known_pages = Optimization::off;
  EXPECT_LT(5 * with, faults_of(counter, optimizations));
}

TEST(KnownPages, TakeThePlaceOfPageFaultsUntilAProgramsEnd) {
  if (!counter_of_page_faults().valid()) GTEST_SKIP() << "page faults are not counted here";
  expect_known_pages_count();
}

TEST(KnownPages, AreTakenOneRunAtATimeWhereTheKernelTakesNoMore) {
  if (!counter_of_page_faults().valid()) GTEST_SKIP() << "page faults are not counted here";
  const pid_t pid = ::fork();
  if (pid == 0) {
    if (!refuse_call(SYS_process_madvise, EBADF)) ::_exit(2);
    expect_known_pages_count();
    ::_exit(testing::Test::HasFailure() ? 1 : 0);
  }
  int status = -1;
  ASSERT_EQ(::waitpid(pid, &status, 0), pid);
  EXPECT_EQ(status, 0);
}

// Without known pages, which hide what they are.
TEST(FreshMemory, SparesPageFaults) {
  const jail::Fd counter = counter_of_page_faults();
  if (!counter.valid()) GTEST_SKIP() << "page faults are not counted here";
  ForkOptimizations optimizations;
  optimizations.known_pages = Optimization::off;
  const std::uint64_t with = faults_of(counter, optimizations);
  optimizations.fresh_memory = Optimization::off;
  EXPECT_LT(10 * with, 9 * faults_of(counter, optimizations));
}

}  // namespace
}  // namespace kernel_ring
