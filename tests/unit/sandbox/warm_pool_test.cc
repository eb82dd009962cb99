// WarmPool over pools that a test fills, by a clock that it moves.
#include "runtime/sandbox/warm_pool.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <boost/asio/io_context.hpp>
#include <cerrno>
#include <chrono>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "tests/unit/sandbox/fake_jail.h"
#include "tests/unit/sandbox/manual_clock.h"

namespace runtime {
namespace {

using namespace std::chrono_literals;
using jail::Error;
using jail::ErrorKind;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

using Patience = WarmPool::Patience;

class WarmPoolTest : public testing::Test {
 protected:
  // A request that waits or has been answered.
  struct Request {
    std::optional<jail::Result<Leased>> answer;
    WarmPool::Ticket ticket;
    bool has_jail() const { return answer && *answer; }
  };

  WarmPoolTest() {
    jail::TemplateSpec spec;
    spec.name = "mine";
    pool_ = std::make_shared<WarmPool>(
        loop_.get_executor(), clock_,
        [this](const jail::TemplateSpec& what, const jail::PoolOptions&) { return open(what); },
        std::move(spec), jail::PoolOptions(),
        [this](std::string_view name, std::string_view reason) {
          told_.push_back(std::string(name) + ": " + std::string(reason));
        });
  }

  jail::Result<std::shared_ptr<PoolHandle>> open(const jail::TemplateSpec& what) {
    EXPECT_EQ(what.name, "mine");
    if (open_error_) {
      ++failed_;
      return *open_error_;
    }
    opened_.push_back(std::make_shared<FakePool>());
    if (next_trouble_) opened_.back()->trouble = *next_trouble_;
    return std::shared_ptr<PoolHandle>(std::make_shared<FakePoolHandle>(opened_.back()));
  }

  // Runs all that can be done now.
  void go_on() {
    loop_.restart();
    loop_.poll();
  }

  std::shared_ptr<Request> take(Patience patience = Patience::until_ready,
                                const std::optional<jail::Invocation>& invocation = {}) {
    const auto request = std::make_shared<Request>();
    const auto make_ticket = [&] {
      request->ticket = std::make_shared<WarmPool::Ticket::element_type>(
          [weak = std::weak_ptr(request)](jail::Result<Leased> leased) {
            if (const auto there = weak.lock()) there->answer.emplace(std::move(leased));
          });
      return request->ticket;
    };
    auto leased = pool_->take(invocation, patience, make_ticket);
    EXPECT_EQ(leased.has_value(), request->ticket == nullptr);
    if (leased) request->answer.emplace(std::move(*leased));
    return request;
  }

  // The pool with a jail, which has been noticed.
  FakePool& open_with_a_jail() {
    pool_->open();
    go_on();
    FakePool& pool = *opened_.back();
    pool.add();
    pool.tell();
    go_on();
    return pool;
  }

  boost::asio::io_context loop_{1};
  const std::shared_ptr<ManualClock> clock_ = std::make_shared<ManualClock>();
  std::optional<Error> open_error_;
  std::optional<std::string> next_trouble_;
  int failed_ = 0;
  std::vector<std::shared_ptr<FakePool>> opened_;
  std::vector<std::string> told_;
  std::shared_ptr<WarmPool> pool_;
};

TEST_F(WarmPoolTest, AJailThatWaitsIsGivenAtOnce) {
  FakePool& pool = open_with_a_jail();
  const auto request = take(Patience::none);
  ASSERT_TRUE(request->has_jail());
  const Leased& leased = **request->answer;
  EXPECT_TRUE(leased.pooled);
  EXPECT_TRUE(leased.warm);
  EXPECT_EQ(leased.template_name, "mine");
  EXPECT_EQ(pool.leases, 1u);
  EXPECT_THAT(pool.invocations, IsEmpty());
}

TEST_F(WarmPoolTest, AnInvocationIsLaunched) {
  FakePool& pool = open_with_a_jail();
  ASSERT_TRUE(take(Patience::none, jail::Invocation{.arguments = {"a"}, .env = {}})->has_jail());
  ASSERT_EQ(pool.invocations.size(), 1u);
  EXPECT_THAT(pool.invocations[0].arguments, ElementsAre("a"));
}

TEST_F(WarmPoolTest, TheFirstRequestOpensThePool) {
  EXPECT_THAT(opened_, IsEmpty());
  const auto patient = take(Patience::until_ready);
  const auto hasty = take(Patience::none);
  EXPECT_FALSE(patient->answer);
  ASSERT_TRUE(hasty->answer);
  EXPECT_EQ(hasty->answer->error().kind, ErrorKind::closed);
  go_on();
  ASSERT_EQ(opened_.size(), 1u);
  EXPECT_FALSE(patient->answer) << "no jail is there yet";
  opened_[0]->add();
  opened_[0]->tell();
  go_on();
  EXPECT_TRUE(patient->has_jail());
}

TEST_F(WarmPoolTest, WhoWaitsIsServedInTheOrderOfComing) {
  FakePool& pool = open_with_a_jail();
  ASSERT_TRUE(take()->has_jail());
  const auto first = take();
  const auto second = take();
  const auto third = take(Patience::none);
  EXPECT_FALSE(first->answer || second->answer || third->answer);
  const auto jail = pool.add();
  pool.tell();
  go_on();
  EXPECT_TRUE(first->has_jail());
  EXPECT_FALSE(second->answer || third->answer);
  pool.add();
  pool.add();
  pool.tell();
  go_on();
  EXPECT_TRUE(second->has_jail());
  EXPECT_TRUE(third->has_jail());
}

TEST_F(WarmPoolTest, NobodyIsServedBeforeWhoWaits) {
  FakePool& pool = open_with_a_jail();
  ASSERT_TRUE(take()->has_jail());
  const auto first = take();
  pool.add();  // the pool has not reported it yet
  const auto second = take();
  EXPECT_FALSE(second->answer);
  pool.tell();
  go_on();
  EXPECT_TRUE(first->has_jail());
  EXPECT_FALSE(second->answer);
}

TEST_F(WarmPoolTest, WhoHasGoneGetsNoJail) {
  FakePool& pool = open_with_a_jail();
  ASSERT_TRUE(take()->has_jail());
  auto gone = take();
  const auto stays = take();
  gone.reset();
  pool.add();
  pool.tell();
  go_on();
  EXPECT_TRUE(stays->has_jail());
  EXPECT_EQ(pool.leases, 2u);
}

TEST_F(WarmPoolTest, TroubleSendsAwayWhoWaitsForTheFirstJailAndIsToldOnce) {
  const auto request = take();
  go_on();
  opened_[0]->trouble = "no zygote";
  opened_[0]->tell();
  go_on();
  ASSERT_TRUE(request->answer);
  ASSERT_FALSE(*request->answer);
  opened_[0]->tell();
  go_on();
  EXPECT_THAT(told_, ElementsAre("mine: no zygote"));
  const auto later = take();
  ASSERT_TRUE(later->answer);
  EXPECT_THAT(later->answer->error().message(), HasSubstr("no zygote"));
  opened_[0]->trouble = "";
  opened_[0]->add();
  opened_[0]->tell();
  go_on();
  EXPECT_THAT(told_, ElementsAre("mine: no zygote", "mine: "));
  EXPECT_TRUE(take()->has_jail());
}

TEST_F(WarmPoolTest, APoolThatCannotBeOpenedIsTriedAgainAfterAPause) {
  open_error_ = Error{ErrorKind::kernel, "open it", 0, {}};
  const auto request = take();
  go_on();
  ASSERT_TRUE(request->answer);
  EXPECT_FALSE(*request->answer);
  EXPECT_EQ(failed_, 1);
  EXPECT_THAT(told_, ElementsAre("mine: open it"));
  clock_->advance(4999ms);
  take();
  go_on();
  EXPECT_EQ(failed_, 1) << "too soon";
  open_error_.reset();
  clock_->advance(1ms);
  go_on();
  EXPECT_THAT(opened_, IsEmpty()) << "nobody asks";
  take();
  go_on();
  EXPECT_EQ(opened_.size(), 1u);
}

TEST_F(WarmPoolTest, APoolThatFailsForNobodyIsClosed) {
  next_trouble_ = "no such module";
  take();
  go_on();
  clock_->advance(60s);
  opened_[0]->tell();
  go_on();
  EXPECT_FALSE(opened_[0]->closed) << "somebody may still come";
  clock_->advance(1ms);
  opened_[0]->tell();
  go_on();
  EXPECT_TRUE(opened_[0]->closed);
  take();
  go_on();
  EXPECT_EQ(opened_.size(), 2u);
}

TEST_F(WarmPoolTest, WhoAsksKeepsAFailingPoolOpen) {
  next_trouble_ = "no such module";
  take();
  go_on();
  clock_->advance(59s);
  take();
  clock_->advance(59s);
  opened_[0]->tell();
  go_on();
  EXPECT_FALSE(opened_[0]->closed);
}

TEST_F(WarmPoolTest, APoolThatHasHadJailsIsNotClosedForNobody) {
  FakePool& pool = open_with_a_jail();
  pool.trouble = "for a while";
  clock_->advance(24h);
  pool.tell();
  go_on();
  EXPECT_FALSE(pool.closed);
}

TEST_F(WarmPoolTest, APoolWhoseMakerHasEndedIsOpenedAnew) {
  FakePool& pool = open_with_a_jail();
  ASSERT_TRUE(take()->has_jail());
  const auto waits = take();
  pool.trouble = "the launcher is gone";
  pool.maker_ended = true;
  pool.tell();
  go_on();
  EXPECT_TRUE(pool.closed);
  ASSERT_EQ(opened_.size(), 2u);
  EXPECT_EQ(pool_->state().leases, 1u) << "what was counted before stays";
  opened_[1]->add();
  opened_[1]->tell();
  go_on();
  EXPECT_TRUE(take()->has_jail());
  EXPECT_EQ(pool_->state().leases, 2u);
}

TEST_F(WarmPoolTest, ALeaseThatFindsItsMakerEndedOpensThePoolAnew) {
  FakePool& pool = open_with_a_jail();
  pool.ready.clear();
  pool.maker_ended = true;
  pool.trouble = "the launcher is gone";
  const auto request = take();
  ASSERT_TRUE(request->answer);
  EXPECT_EQ(request->answer->error().kind, ErrorKind::closed) << "a jail of its own is better";
  go_on();
  EXPECT_EQ(opened_.size(), 2u);
}

TEST_F(WarmPoolTest, AShortageOfTheHostIsNotWaitedFor) {
  FakePool& pool = open_with_a_jail();
  ASSERT_TRUE(take()->has_jail());
  const auto waits = take();
  EXPECT_FALSE(waits->answer);
  pool.lease_error = Error{ErrorKind::exhausted, "make a pipe", EMFILE, {}};
  pool.tell();
  go_on();
  ASSERT_TRUE(waits->answer);
  EXPECT_EQ(waits->answer->error().sys_errno, EMFILE);
  const auto comes = take();
  ASSERT_TRUE(comes->answer);
  EXPECT_EQ(comes->answer->error().sys_errno, EMFILE);
}

TEST_F(WarmPoolTest, GivesUpOneThatWaits) {
  EXPECT_FALSE(pool_->give_up_one()) << "it is not open";
  FakePool& pool = open_with_a_jail();
  EXPECT_TRUE(pool_->give_up_one());
  EXPECT_TRUE(pool.ready.empty());
  EXPECT_FALSE(pool_->give_up_one());
}

TEST_F(WarmPoolTest, JailsThatWereNotForkedTellTheirMaker) {
  jail::TemplateSpec spec;
  spec.name = "mine";
  spec.warmth = jail::Warmth::prepared;
  pool_ = std::make_shared<WarmPool>(
      loop_.get_executor(), clock_,
      [this](const jail::TemplateSpec& what, const jail::PoolOptions&) { return open(what); },
      std::move(spec), jail::PoolOptions(), nullptr);
  FakePool& pool = open_with_a_jail();
  const auto request = take();
  ASSERT_TRUE(request->has_jail());
  EXPECT_EQ((*request->answer)->maker, pool.maker);
  pool.add(jail::Phase::launching);
  const auto cold = take();
  ASSERT_TRUE(cold->has_jail());
  EXPECT_FALSE((*cold->answer)->warm);
}

}  // namespace
}  // namespace runtime
