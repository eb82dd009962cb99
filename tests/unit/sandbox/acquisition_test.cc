// The ways of runs to their jails, which are only pipes, by a clock that the test moves.
#include "runtime/sandbox/acquisition.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <utility>

#include "tests/unit/sandbox/run_fixture.h"

namespace runtime {
namespace {

using namespace std::chrono_literals;
using jail::Ended;
using jail::Error;
using jail::ErrorKind;
using jail::Phase;
using testing::HasSubstr;

using Way = Acquisition::Way;

class AcquisitionTest : public RunTest {};

TEST_F(AcquisitionTest, WhoWaitsForAPlaceGetsTheOneThatBecomesFree) {
  auto place = setting_.admission->take_free();
  const auto jail = add(Kind::pooled, Phase::ready);
  const auto outcome = begin();
  EXPECT_EQ(setting_.admission->queued(), 1u);
  pass(70ms);
  place.reset();
  go_on();
  EXPECT_EQ(jail->starts, 1);
  pass(5s);
  EXPECT_FALSE(outcome->told) << "the time to wait is over, that to run is not";
  end(*jail, Ended::exited);
  EXPECT_EQ(outcome->result().timings.queued, 70ms);
}

TEST_F(AcquisitionTest, NobodyWaitsForAPlaceLongerThanHeMayRun) {
  auto place = setting_.admission->take_free();
  const auto outcome = begin();
  pass(4999ms);
  EXPECT_FALSE(outcome->told);
  pass(1ms);
  EXPECT_EQ(outcome->error().kind, ErrorKind::exhausted);
  EXPECT_THAT(outcome->error().message(), HasSubstr("no place"));
  EXPECT_EQ(setting_.admission->queued(), 0u);
}

TEST_F(AcquisitionTest, APlaceThatIsOnItsWayAtTheDeadlineIsTaken) {
  auto place = setting_.admission->take_free();
  const auto jail = add(Kind::pooled, Phase::ready);
  const auto outcome = begin();
  clock_->advance(5s);  // the clock reports before the place does
  place.reset();
  go_on();
  EXPECT_FALSE(outcome->told);
  EXPECT_EQ(jail->starts, 1);
}

TEST_F(AcquisitionTest, CancelLeavesTheQueue) {
  auto place = setting_.admission->take_free();
  RunOptions options;
  const Cancel cancel = options.cancel;
  const auto outcome = begin(program(), std::move(options));
  clock_->advance(30ms);
  cancel.request();
  go_on();
  EXPECT_EQ(outcome->result().status, Status::cancelled);
  EXPECT_EQ(outcome->result().timings.queued, 30ms);
  EXPECT_EQ(setting_.admission->queued(), 0u);
}

TEST_F(AcquisitionTest, APlaceThatIsOnItsWayToACancelledRunIsGivenBack) {
  auto place = setting_.admission->take_free();
  RunOptions options;
  const Cancel cancel = options.cancel;
  const auto outcome = begin(program(), std::move(options));
  cancel.request();
  place.reset();
  go_on();
  EXPECT_EQ(outcome->result().status, Status::cancelled);
  EXPECT_EQ(setting_.admission->running(), 0u);
}

TEST_F(AcquisitionTest, AFullQueueIsAnError) {
  set_places(1, 0);
  auto place = setting_.admission->take_free();
  EXPECT_EQ(begin()->error().kind, ErrorKind::exhausted);
}

TEST_F(AcquisitionTest, WhoIsPushedOutOfTheQueueIsTold) {
  set_places(1, 2);
  auto place = setting_.admission->take_free();
  RunOptions greedy;
  greedy.caller = "greedy";
  const auto first = begin(program(), greedy);
  const auto second = begin(program(), greedy);
  RunOptions modest;
  modest.caller = "modest";
  const auto third = begin(program(), modest);
  EXPECT_FALSE(first->told || third->told);
  EXPECT_THAT(second->error().message(), HasSubstr("queue is full"));
}

TEST_F(AcquisitionTest, WhoWaitsForAJailGetsTheOneThatBecomesReady) {
  const auto outcome = begin();
  ASSERT_EQ(tickets_.size(), 1u);
  pass(20ms);
  const auto jail = add(Kind::pooled, Phase::ready);
  (*tickets_[0].lock())(lease(next_.front()));
  go_on();
  EXPECT_EQ(jail->starts, 1);
  EXPECT_TRUE(tickets_[0].expired());
  end(*jail, Ended::exited);
  EXPECT_EQ(outcome->result().timings.queued, 20ms);
}

TEST_F(AcquisitionTest, WhereThePoolHasNoneAfterAllAJailIsMade) {
  const auto outcome = begin();
  const auto jail = add(Kind::of_its_own, Phase::ready);
  (*tickets_[0].lock())(Error{ErrorKind::closed, "lease a jail", 0, {}});
  go_on();
  ASSERT_EQ(asked_.size(), 2u);
  EXPECT_EQ(asked_[1].way, Way::cold);
  EXPECT_EQ(jail->starts, 1);
}

TEST_F(AcquisitionTest, NobodyWaitsForAJailLongerThanHeMayRun) {
  const auto outcome = begin();
  pass(4999ms);
  EXPECT_FALSE(outcome->told);
  pass(1ms);
  EXPECT_EQ(outcome->error().kind, ErrorKind::exhausted);
  EXPECT_THAT(outcome->error().message(), HasSubstr("no jail"));
  EXPECT_TRUE(tickets_[0].expired());
  EXPECT_EQ(setting_.admission->running(), 0u);
}

TEST_F(AcquisitionTest, CancelEndsTheWaitForAJail) {
  RunOptions options;
  const Cancel cancel = options.cancel;
  const auto outcome = begin(program(), std::move(options));
  cancel.request();
  go_on();
  EXPECT_EQ(outcome->result().status, Status::cancelled);
  EXPECT_TRUE(tickets_[0].expired());
}

TEST_F(AcquisitionTest, APooledJailThatIsNotReadyIsReplacedByOneThatIsWaitedForLonger) {
  const auto slow = add(Kind::pooled, Phase::launching);
  const auto slower = add(Kind::of_its_own, Phase::launching);
  const JailMaker maker = next_.front().maker;
  const auto outcome = begin();
  pass(4999ms);
  EXPECT_EQ(asked_.size(), 1u);
  pass(1ms);
  EXPECT_TRUE(slow->given_up);
  ASSERT_EQ(asked_.size(), 2u);
  EXPECT_EQ(asked_[1].way, Way::cold);
  EXPECT_EQ(asked_[1].failed, maker);
  pass(9999ms);
  EXPECT_FALSE(outcome->told);
  pass(1ms);
  EXPECT_EQ(outcome->error().kind, ErrorKind::timed_out);
  EXPECT_THAT(outcome->error().message(), HasSubstr("not ready after 10 s"));
  EXPECT_TRUE(slower->given_up);
}

TEST_F(AcquisitionTest, AJailThatItsLauncherLostIsLaunchedAgainOnce) {
  const auto lost = add(Kind::of_its_own, Phase::launching);
  const auto lost_too = add(Kind::of_its_own, Phase::launching);
  const JailMaker maker = next_.front().maker;
  const auto outcome = begin();
  lost->fail({ErrorKind::closed, "launch", 0, {}});
  go_on();
  ASSERT_EQ(asked_.size(), 2u);
  EXPECT_EQ(asked_[1].failed, maker);
  lost_too->fail({ErrorKind::closed, "launch again", 0, {}});
  go_on();
  EXPECT_EQ(asked_.size(), 2u);
  EXPECT_THAT(outcome->error().message(), HasSubstr("launch again"));
}

TEST_F(AcquisitionTest, AJailOfWhichADeadLauncherHasSaidNothingIsLaunchedAgain) {
  bool has_ended = false;
  const auto unknown = add(Kind::of_its_own, Phase::launching);
  unknown->is_announced = false;
  next_.back().maker_has_ended = [&] { return has_ended; };
  const JailMaker maker = next_.front().maker;
  add(Kind::of_its_own, Phase::ready);
  begin();
  pass(5000ms);
  EXPECT_EQ(asked_.size(), 1u);
  has_ended = true;
  pass(100ms);
  ASSERT_EQ(asked_.size(), 2u);
  EXPECT_EQ(asked_[1].failed, maker);
  EXPECT_TRUE(unknown->given_up);
}

TEST_F(AcquisitionTest, AJailThatADeadLauncherHasAnnouncedIsWaitedFor) {
  const auto jail = add(Kind::of_its_own, Phase::launching);
  next_.back().maker_has_ended = [] { return true; };
  const auto outcome = begin();
  pass(9999ms);
  EXPECT_EQ(asked_.size(), 1u);
  pass(1ms);
  EXPECT_EQ(outcome->error().kind, ErrorKind::timed_out);
}

TEST_F(AcquisitionTest, AJailThatCannotBeMadeIsNotLaunchedAgain) {
  const auto jail = add(Kind::of_its_own, Phase::launching);
  const auto outcome = begin();
  jail->fail({ErrorKind::kernel, "mount /usr", 0, {}});
  go_on();
  EXPECT_EQ(asked_.size(), 1u);
  EXPECT_THAT(outcome->error().message(), HasSubstr("mount /usr"));
  EXPECT_EQ(setting_.admission->running(), 0u);
}

TEST_F(AcquisitionTest, APooledJailThatEndsBeforeTheStartIsReplaced) {
  const auto killed = add(Kind::pooled, Phase::launching);
  const auto jail = add(Kind::of_its_own, Phase::ready);
  begin();
  end(*killed, Ended::killed);
  EXPECT_EQ(jail->starts, 1);
}

TEST_F(AcquisitionTest, AJailOfItsOwnThatEndsBeforeTheStartIsReported) {
  const auto killed = add(Kind::of_its_own, Phase::launching);
  const auto outcome = begin();
  end(*killed, Ended::killed);
  EXPECT_EQ(outcome->result().status, Status::killed);
  EXPECT_EQ(asked_.size(), 1u);
}

TEST_F(AcquisitionTest, WhatTheHostLacksIsTakenFromJailsThatWaitForNobody) {
  lacks_ = 2;
  idle_ = 2;
  const auto jail = add(Kind::pooled, Phase::ready);
  begin();
  EXPECT_EQ(asked_for_room_, 1);
  EXPECT_EQ(asked_.size(), 1u) << "its processes are still ending";
  pass(10ms);
  pass(10ms);
  EXPECT_EQ(asked_for_room_, 2);
  ASSERT_EQ(asked_.size(), 3u);
  EXPECT_EQ(asked_[2].way, Way::any);
  EXPECT_EQ(jail->starts, 1);
}

TEST_F(AcquisitionTest, WhereNoJailIsLeftToBeGivenUpTheShortageIsTold) {
  lacks_ = 2;
  idle_ = 1;
  const auto outcome = begin();
  pass(10ms);
  EXPECT_EQ(asked_for_room_, 2);
  EXPECT_EQ(outcome->error().kind, ErrorKind::exhausted);
  EXPECT_EQ(outcome->error().sys_errno, EMFILE);
  EXPECT_EQ(setting_.admission->running(), 0u);
}

TEST_F(AcquisitionTest, AShortageThatAJailsInitMeetsMakesRoomToo) {
  idle_ = 1;
  const auto jail = add(Kind::of_its_own, Phase::launching);
  const auto next = add(Kind::of_its_own, Phase::ready);
  begin();
  jail->fail({ErrorKind::exhausted, "clone a jail", EAGAIN, {}});
  go_on();
  EXPECT_TRUE(jail->given_up);
  EXPECT_EQ(asked_.size(), 1u);
  pass(10ms);
  EXPECT_EQ(next->starts, 1);
}

TEST_F(AcquisitionTest, AShortageThatTheStartMeetsMakesRoomToo) {
  idle_ = 1;
  const auto jail = add(Kind::pooled, Phase::ready);
  jail->start_error = Error{ErrorKind::exhausted, "write main.py", EMFILE, {}};
  const auto next = add(Kind::pooled, Phase::ready);
  begin();
  EXPECT_TRUE(jail->given_up);
  EXPECT_EQ(asked_.size(), 1u) << "its processes are still ending";
  pass(10ms);
  ASSERT_EQ(asked_.size(), 2u);
  EXPECT_EQ(asked_[1].way, Way::any);
  EXPECT_EQ(next->starts, 1);
}

TEST_F(AcquisitionTest, AFullQueueIsNoShortage) {
  set_places(1, 0);
  idle_ = 1;
  auto place = setting_.admission->take_free();
  EXPECT_EQ(begin()->error().sys_errno, 0);
  EXPECT_EQ(asked_for_room_, 0);
}

TEST_F(AcquisitionTest, CancelEndsTheWaitForRoom) {
  lacks_ = 5;
  idle_ = 5;
  RunOptions options;
  const Cancel cancel = options.cancel;
  const auto outcome = begin(program(), std::move(options));
  cancel.request();
  go_on();
  EXPECT_EQ(outcome->result().status, Status::cancelled);
  EXPECT_EQ(asked_for_room_, 1);
}

TEST_F(AcquisitionTest, TheJailThatReplacesOneThatCannotStartGetsAllOfTheInput) {
  const auto broken = add(Kind::pooled, Phase::ready);
  broken->start_error = Error{ErrorKind::closed, "start", 0, {}};
  const auto jail = add(Kind::of_its_own, Phase::ready);
  RunRequest request = program();
  request.files = {{"file", "content"}};
  request.standard_input = "input";
  begin(std::move(request));
  EXPECT_TRUE(broken->given_up);
  EXPECT_EQ(broken->in.read(), "input");
  EXPECT_TRUE(broken->in.at_end());
  EXPECT_EQ(jail->in.read(), "input");
  EXPECT_EQ(jail->files.size(), 2u);
}

}  // namespace
}  // namespace runtime
