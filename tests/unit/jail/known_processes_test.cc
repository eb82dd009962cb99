#include "child/known_processes.h"

#include <gtest/gtest.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <vector>

#include "child/clocks.h"

namespace jail::child {
namespace {

struct Process {
  int pid;
  int parent;
  std::uint64_t own_ticks;
  std::uint64_t children_ticks = 0;
  std::uint64_t clock_ns = 0;
  KnownProcesses::Origin origin = KnownProcesses::Origin::of_a_guest;
};

// The processes that init sees at one look, and those that it has reaped by then.
void look(KnownProcesses& known, const std::vector<Process>& processes, std::uint64_t reaped = 0) {
  known.begin();
  for (const Process& process : processes) {
    ProcessStat stat;
    stat.parent = process.parent;
    stat.own_ticks = process.own_ticks;
    stat.children_ticks = process.children_ticks;
    known.see(process.pid, stat, process.clock_ns, process.origin);
  }
  known.end(reaped);
}

// More than are remembered.
std::vector<Process> too_many(std::uint64_t own_ticks) {
  std::vector<Process> all;
  for (int pid = 2; pid < 1002; ++pid) all.push_back({pid, 1, own_ticks});
  return all;
}

TEST(KnownProcesses, TimeThatNobodyGotIsLostAtTheLookAfterTheNext) {
  KnownProcesses known;
  look(known, {{2, 1, 5}, {3, 2, 40}});
  look(known, {{2, 1, 6}});
  EXPECT_EQ(known.lost_ticks(), 0u);
  look(known, {{2, 1, 7}});
  EXPECT_EQ(known.lost_ticks(), 40u);
  look(known, {{2, 1, 8}});
  EXPECT_EQ(known.lost_ticks(), 40u);
}

TEST(KnownProcesses, TimeOfAChildThatWasWaitedForIsItsParents) {
  KnownProcesses known;
  look(known, {{2, 1, 5}, {3, 2, 40}});
  look(known, {{2, 1, 6, 41}});
  look(known, {{2, 1, 6, 41}});
  EXPECT_EQ(known.lost_ticks(), 0u);
}

TEST(KnownProcesses, AParentThatWasLookedAtTooEarlyExplainsItOneLookLater) {
  KnownProcesses known;
  look(known, {{2, 1, 5}, {3, 2, 40}});
  look(known, {{2, 1, 6, 0}});
  look(known, {{2, 1, 6, 40}});
  look(known, {{2, 1, 6, 40}});
  EXPECT_EQ(known.lost_ticks(), 0u);
}

TEST(KnownProcesses, WhatInitHasReapedIsNotLost) {
  KnownProcesses known;
  look(known, {{2, 1, 5}, {3, 1, 40}});
  look(known, {{2, 1, 6}}, 40);
  look(known, {{2, 1, 6}}, 40);
  EXPECT_EQ(known.lost_ticks(), 0u);
}

TEST(KnownProcesses, WhatAChildHadFromItsOwnChildrenIsLostWithIt) {
  KnownProcesses known;
  look(known, {{2, 1, 5}, {3, 2, 10, 30}});
  look(known, {{2, 1, 5}});
  look(known, {{2, 1, 5}});
  EXPECT_EQ(known.lost_ticks(), 40u);
}

TEST(KnownProcesses, GenerationsFollowTheForks) {
  KnownProcesses known;
  look(known, {{2, 1, 0}});
  EXPECT_EQ(known.generations(), 1u);
  look(known, {{2, 1, 0}, {3, 2, 0}, {4, 2, 0}, {5, 2, 0}});
  EXPECT_EQ(known.generations(), 2u);
  look(known, {{2, 1, 0}, {3, 2, 0}, {6, 3, 0}});
  EXPECT_EQ(known.generations(), 3u);
}

TEST(KnownProcesses, AGenerationOutlivesTheParents) {
  KnownProcesses known;
  look(known, {{2, 1, 0}, {3, 2, 0}, {4, 3, 0}});
  look(known, {{4, 1, 0}});
  EXPECT_EQ(known.generations(), 3u);
  look(known, {{4, 1, 0}, {5, 4, 0}});
  EXPECT_EQ(known.generations(), 4u);
}

TEST(KnownProcesses, AnOrphanThatIsMetAsOneMayDescendFromAnybody) {
  KnownProcesses known;
  look(known, {{2, 1, 0}, {3, 2, 0}});
  look(known, {{2, 1, 0}, {3, 2, 0}, {9, 1, 0}});
  EXPECT_EQ(known.generations(), 3u);
}

TEST(KnownProcesses, ProcessesThatInitStartedDescendFromNobody) {
  using Origin = KnownProcesses::Origin;
  const auto started = [](int pid, Origin origin) { return Process{pid, 1, 0, 0, 0, origin}; };
  KnownProcesses known;
  // Each is there when the next one comes.
  for (int pid = 2; pid < 200; ++pid) {
    const Origin origin = pid < 100 ? Origin::executed : Origin::of_a_zygote;
    look(known, {started(pid - 1, origin), started(pid, origin)});
    ASSERT_EQ(known.generations(), pid < 100 ? 1u : 3u);
  }
  look(known, {started(300, Origin::of_a_guest), started(301, Origin::executed)});
  EXPECT_EQ(known.generations(), 4u) << "an orphan that is met as one";
  look(known, {started(300, Origin::of_a_zygote), started(301, Origin::executed)});
  EXPECT_EQ(known.generations(), 3u) << "it was a fork of a zygote";
}

TEST(KnownProcesses, WhatAProcessGrowsByIsItsOwn) {
  KnownProcesses known;
  look(known, {{2, 1, 0}, {3, 2, 0}});
  EXPECT_EQ(known.own_memory(2, 100), 0u) << "it may share all that it had at first";
  EXPECT_EQ(known.own_memory(2, 130), 30u);
  EXPECT_EQ(known.own_memory(3, 130), 0u);
  EXPECT_EQ(known.own_memory(2, 110), 10u) << "what it gives back may be its own";
  EXPECT_EQ(known.own_memory(2, 50), 0u);
  EXPECT_EQ(known.own_memory(2, 60), 10u);
  EXPECT_EQ(known.own_memory(9, 70), 0u) << "it is new";
  look(known, too_many(1));
  EXPECT_EQ(known.own_memory(1001, 70), 70u) << "there is no room to remember it";
}

TEST(KnownProcesses, WhatWasFoundToBeItsOwnStays) {
  KnownProcesses known;
  look(known, {{2, 1, 0}});
  EXPECT_EQ(known.own_memory(2, 100), 0u);
  known.note_own_memory(2, 80);
  EXPECT_EQ(known.own_memory(2, 100), 80u);
  EXPECT_EQ(known.own_memory(2, 120), 100u);
}

KnownProcesses::Counts some_counts() {
  KnownProcesses::Counts counts{};
  counts.is_counted = true;
  counts.is_dear = true;
  counts.mappings = 7;
  return counts;
}

TEST(KnownProcesses, CountsAreInheritedAndForgottenWithTheirProcess) {
  KnownProcesses known;
  look(known, {{2, 1, 0}});
  ASSERT_NE(known.counts_of(2), nullptr);
  EXPECT_FALSE(known.counts_of(2)->is_counted);
  *known.counts_of(2) = some_counts();
  look(known, {{2, 1, 0}, {3, 2, 0}, {4, 1, 0}});
  EXPECT_EQ(known.counts_of(3)->mappings, 7u);
  EXPECT_TRUE(known.counts_of(3)->is_dear);
  EXPECT_FALSE(known.counts_of(4)->is_counted) << "no child of it";
  EXPECT_EQ(known.counts_of(9), nullptr);
  look(known, {});
  look(known, {{2, 1, 0}});
  EXPECT_FALSE(known.counts_of(2)->is_counted);
}

TEST(KnownProcesses, NothingIsInheritedFromAParentThatIsGone) {
  KnownProcesses known;
  look(known, {{2, 1, 0}, {3, 2, 0}});
  *known.counts_of(3) = some_counts();
  look(known, {{2, 1, 0}});
  look(known, {{2, 1, 0}, {4, 3, 0}});
  EXPECT_FALSE(known.counts_of(4)->is_counted);
}

TEST(KnownProcesses, CountsAreCurrentUntilTheProcessRuns) {
  KnownProcesses known;
  look(known, {{2, 1, 0, 0, 70}});
  known.counts_of(2)->is_counted = true;
  known.counts_of(2)->is_current = true;
  look(known, {{2, 1, 0, 0, 70}, {3, 2, 0, 0, 70}});
  EXPECT_TRUE(known.counts_of(2)->is_current);
  EXPECT_TRUE(known.counts_of(3)->is_counted);
  EXPECT_FALSE(known.counts_of(3)->is_current) << "it has run since it was forked";
  look(known, {{2, 1, 0, 0, 71}});
  EXPECT_FALSE(known.counts_of(2)->is_current);
}

TEST(KnownProcesses, MoreThanItRemembersAreNoError) {
  KnownProcesses known;
  look(known, too_many(1));
  look(known, too_many(1));
  look(known, {});
  look(known, {});
  EXPECT_LE(known.lost_ticks(), 1000u);
}

TEST(KnownProcesses, WhoeverIsNewGoneOrHasRunHasMoved) {
  KnownProcesses known;
  look(known, {{2, 1, 0, 0, 70}});
  EXPECT_FALSE(known.none_has_moved());
  look(known, {{2, 1, 0, 0, 70}});
  EXPECT_TRUE(known.none_has_moved());
  look(known, {{2, 1, 0, 0, 71}});
  EXPECT_FALSE(known.none_has_moved());
  look(known, {{2, 1, 0, 0, 71}, {3, 2, 0, 0, 0}});
  EXPECT_FALSE(known.none_has_moved());
  look(known, {{2, 1, 0, 0, 71}, {3, 2, 0, 0, 0}});
  EXPECT_TRUE(known.none_has_moved());
  look(known, {{2, 1, 0, 0, 71}});
  EXPECT_FALSE(known.none_has_moved());
}

TEST(KnownProcesses, WhoeverFindsNoRoomHasAlwaysMoved) {
  KnownProcesses known;
  look(known, too_many(0));
  look(known, too_many(0));
  EXPECT_FALSE(known.none_has_moved());
}

TEST(KnownProcesses, AProcessThatStandsStillHasNotRunUntilItGoesOnOrIsGone) {
  const pid_t child = ::fork();
  if (child == 0) {
    for (;;) ::raise(SIGSTOP);
  }
  ASSERT_GT(child, 0);
  int status = 0;
  ASSERT_EQ(::waitpid(child, &status, WUNTRACED), child);
  KnownProcesses known;
  look(known, {{child, 1, 0, 0, cpu_ns_of(child, clock_sum)}});
  EXPECT_TRUE(known.none_has_run());
  ::kill(child, SIGCONT);
  ASSERT_EQ(::waitpid(child, &status, WUNTRACED), child);
  EXPECT_FALSE(known.none_has_run());
  look(known, {{child, 1, 0, 0, cpu_ns_of(child, clock_sum)}});
  EXPECT_TRUE(known.none_has_run());
  ::kill(child, SIGKILL);
  ASSERT_EQ(::waitpid(child, &status, 0), child);
  EXPECT_FALSE(known.none_has_run());
}

}  // namespace
}  // namespace jail::child
