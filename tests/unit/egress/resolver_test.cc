// Look-ups in threads: whose turn it is, and that nobody waits for who is slow.
#include "egress/resolver.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <poll.h>

#include <chrono>
#include <condition_variable>
#include <mutex>
#include <set>

namespace jail::egress {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;

// A name server of ours: names that start with "slow" wait until they are let go.
class FakeNames {
 public:
  Found operator()(const std::string& name) {
    std::unique_lock lock(mutex_);
    asked_.push_back(name);
    ++running_;
    changed_.notify_all();
    if (name.starts_with("slow")) changed_.wait(lock, [&] { return let_go_; });
    --running_;
    return {{*parse_address("192.0.2.1")}, {}};
  }
  void let_go() {
    const std::lock_guard lock(mutex_);
    let_go_ = true;
    changed_.notify_all();
  }
  bool wait_for_running(std::size_t count) {
    std::unique_lock lock(mutex_);
    return changed_.wait_for(lock, seconds(20), [&] { return running_ >= count; });
  }
  std::vector<std::string> asked() {
    const std::lock_guard lock(mutex_);
    return asked_;
  }

 private:
  std::mutex mutex_;
  std::condition_variable changed_;
  std::vector<std::string> asked_;
  std::size_t running_ = 0;
  bool let_go_ = false;
};

class ResolverTest : public testing::Test {
 protected:
  ~ResolverTest() override { names_.let_go(); }

  // The tickets of the next answers, or of fewer when they do not come.
  std::set<std::uint64_t> take(std::size_t count) {
    std::set<std::uint64_t> tickets;
    const auto end = std::chrono::steady_clock::now() + seconds(20);
    while (tickets.size() < count && std::chrono::steady_clock::now() < end) {
      pollfd event{resolver_.event_fd(), POLLIN, 0};
      ::poll(&event, 1, 100);
      for (const auto& answer : resolver_.answers()) tickets.insert(answer.ticket);
    }
    return tickets;
  }

  FakeNames names_;
  Resolver resolver_{[this](const std::string& name) { return names_(name); }};
};

TEST_F(ResolverTest, AnswersComeWithTheirTickets) {
  for (std::uint64_t ticket = 1; ticket <= 20; ++ticket) {
    ASSERT_TRUE(resolver_.ask(ticket, ticket % 3, "name" + std::to_string(ticket)));
  }
  EXPECT_EQ(take(20).size(), 20u);
  EXPECT_EQ(names_.asked().size(), 20u);
  EXPECT_TRUE(resolver_.answers().empty());
}

TEST_F(ResolverTest, AJailWithSlowNamesLeavesThreadsToOthers) {
  for (std::uint64_t ticket = 1; ticket <= 50; ++ticket)
    ASSERT_TRUE(resolver_.ask(ticket, 7, "slow"));
  ASSERT_TRUE(names_.wait_for_running(Resolver::threads_per_jail));
  ASSERT_TRUE(resolver_.ask(100, 8, "quick"));
  ASSERT_TRUE(resolver_.ask(101, 6, "quick"));
  EXPECT_EQ(take(2), (std::set<std::uint64_t>{100, 101}));
  EXPECT_EQ(names_.asked().size(), Resolver::threads_per_jail + 2);
  names_.let_go();
  EXPECT_EQ(take(50).size(), 50u);
}

TEST_F(ResolverTest, WhatIsDroppedIsNotLookedUp) {
  resolver_.ask(1, 7, "slow");
  resolver_.ask(2, 7, "slow");
  ASSERT_TRUE(names_.wait_for_running(2));
  resolver_.ask(3, 7, "dropped");
  resolver_.ask(4, 7, "kept");
  resolver_.drop(3, 7);
  resolver_.drop(3, 7);
  resolver_.drop(99, 99);
  names_.let_go();
  EXPECT_EQ(take(3), (std::set<std::uint64_t>{1, 2, 4}));
  EXPECT_THAT(names_.asked(), testing::Not(testing::Contains("dropped")));
}

TEST_F(ResolverTest, TheQueueHasAnEnd) {
  resolver_.ask(1, 7, "slow");
  resolver_.ask(2, 7, "slow");
  ASSERT_TRUE(names_.wait_for_running(2));
  for (std::size_t i = 0; i < Resolver::most_waiting; ++i)
    ASSERT_TRUE(resolver_.ask(10 + i, 7, "name"));
  EXPECT_FALSE(resolver_.ask(9999, 7, "name"));
  EXPECT_FALSE(resolver_.ask(9999, 8, "name"));
  names_.let_go();
  EXPECT_EQ(take(Resolver::most_waiting + 2).size(), Resolver::most_waiting + 2);
}

TEST(LookUp, OfThisHost) {
  const Found found = look_up("localhost");
  ASSERT_FALSE(found.addresses.empty()) << found.trouble;
  EXPECT_EQ(special_purpose(found.addresses.front()), "loopback");
  const Found none = look_up("no-such-name.invalid");
  EXPECT_TRUE(none.addresses.empty());
  EXPECT_FALSE(none.trouble.empty());
}

}  // namespace
}  // namespace jail::egress
