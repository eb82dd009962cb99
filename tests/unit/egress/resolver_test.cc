// Look-ups: whose turn it is, that nobody waits for a slow name server, and what the two sides
// accept from each other.
#include "egress/resolver.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <poll.h>
#include <sys/socket.h>

#include <chrono>
#include <condition_variable>
#include <cstring>
#include <mutex>
#include <set>
#include <string>
#include <thread>

#include "egress/look_up.h"
#include "parent/order.h"
#include "tests/time_scale.h"

namespace jail::egress {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;

// A name server of the test: names that start with "slow" wait until they are released.
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
    return changed_.wait_for(lock, scaled(seconds(20)), [&] { return running_ >= count; });
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
  explicit ResolverTest(std::pair<Fd, Fd> ends = socket_pair().value())
      : end_(std::move(ends.first)), resolver_(std::move(ends.second)) {}
  ~ResolverTest() override { names_.let_go(); }

  // Returns the tickets of the next answers, or of fewer where they do not come.
  std::set<std::uint64_t> take(std::size_t count) {
    std::set<std::uint64_t> tickets;
    const auto end = std::chrono::steady_clock::now() + scaled(seconds(20));
    while (tickets.size() < count && std::chrono::steady_clock::now() < end) {
      pollfd event{resolver_.event_fd(), POLLIN, 0};
      ::poll(&event, 1, 100);
      const auto all = resolver_.answers().value();
      for (const auto& resolved : all) tickets.insert(resolved.ticket);
    }
    return tickets;
  }

  FakeNames names_;
  Fd end_;
  // The threads end when the resolver goes, so it is destroyed first.
  std::vector<std::jthread> threads_ =
      answer_questions(end_.get(), [this](const std::string& name) { return names_(name); });
  Resolver resolver_;
};

TEST_F(ResolverTest, AnswersComeWithTheirTickets) {
  for (std::uint64_t ticket = 1; ticket <= 20; ++ticket) {
    ASSERT_TRUE(resolver_.ask(ticket, ticket % 3, "name" + std::to_string(ticket)));
  }
  EXPECT_EQ(take(20).size(), 20u);
  EXPECT_EQ(names_.asked().size(), 20u);
  EXPECT_TRUE(resolver_.answers().value().empty());
}

TEST_F(ResolverTest, AJailWithSlowNamesLeavesRoomToOthers) {
  for (std::uint64_t ticket = 1; ticket <= 50; ++ticket)
    ASSERT_TRUE(resolver_.ask(ticket, 7, "slow"));
  ASSERT_TRUE(names_.wait_for_running(Resolver::at_once_per_jail));
  ASSERT_TRUE(resolver_.ask(100, 8, "quick"));
  ASSERT_TRUE(resolver_.ask(101, 6, "quick"));
  EXPECT_EQ(take(2), (std::set<std::uint64_t>{100, 101}));
  EXPECT_EQ(names_.asked().size(), Resolver::at_once_per_jail + 2);
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
  for (std::size_t i = 0; i < Resolver::max_waiting; ++i)
    ASSERT_TRUE(resolver_.ask(10 + i, 7, "name"));
  EXPECT_FALSE(resolver_.ask(9999, 7, "name"));
  EXPECT_FALSE(resolver_.ask(9999, 8, "name"));
  names_.let_go();
  EXPECT_EQ(take(Resolver::max_waiting + 2).size(), Resolver::max_waiting + 2);
}

// The other end, without the threads that answer.
class LookUpsTest : public testing::Test {
 protected:
  explicit LookUpsTest(std::pair<Fd, Fd> ends = socket_pair().value())
      : end_(std::move(ends.first)), resolver_(std::move(ends.second)) {}

  void say(const std::string& datagram) {
    EXPECT_EQ(::send(end_.get(), datagram.data(), datagram.size(), MSG_NOSIGNAL),
              static_cast<ssize_t>(datagram.size()));
  }
  std::string heard() {
    char bytes[max_question_bytes];
    const ssize_t got = ::recv(end_.get(), bytes, sizeof bytes, MSG_DONTWAIT);
    return got < 0 ? "nothing" : std::string(bytes, static_cast<std::size_t>(got));
  }

  Fd end_;
  Resolver resolver_;
};

TEST_F(LookUpsTest, NoMoreAtOnceThanAreServed) {
  for (std::uint64_t i = 0; i < 3 * look_ups_at_once; ++i) {
    ASSERT_TRUE(resolver_.ask(100 + i, i, "name"));
  }
  for (std::size_t slot = 0; slot < look_ups_at_once; ++slot) {
    EXPECT_EQ(heard(), std::to_string(slot) + " name");
  }
  EXPECT_EQ(heard(), "nothing");
  say(to_datagram(Answer{2, {{*parse_address("192.0.2.7")}, {}}}));
  const auto resolved = resolver_.answers();
  ASSERT_TRUE(resolved);
  ASSERT_EQ(resolved->size(), 1u);
  EXPECT_EQ(resolved->front().ticket, 102u);
  EXPECT_THAT(resolved->front().found.addresses, testing::ElementsAre(*parse_address("192.0.2.7")));
  EXPECT_EQ(heard(), "2 name");
  EXPECT_EQ(heard(), "nothing");
}

TEST_F(LookUpsTest, WhatIsNoAnswerEndsThem) {
  ASSERT_TRUE(resolver_.ask(1, 1, "name"));
  for (const std::string& datagram :
       {std::string("x"), std::string("0"), std::string("4\n\n"), std::string("00\n\n"),
        std::string("-1\n\n"), std::string("0\n\n127.1\n"), std::string("0\n\n192.0.2.1\n\n"),
        std::string("0\n\n192.0.2.1\0\n", 14), std::string(5000, '0')}) {
    say(datagram);
    EXPECT_FALSE(resolver_.answers()) << datagram;
  }
  // Nobody asked this question.
  say(to_datagram(Answer{1, {}}));
  EXPECT_FALSE(resolver_.answers());
}

TEST_F(LookUpsTest, TheirEndIsSeen) {
  ASSERT_TRUE(resolver_.ask(1, 1, "name"));
  ASSERT_TRUE(resolver_.answers());
  end_.reset();
  EXPECT_FALSE(resolver_.answers());
  EXPECT_TRUE(resolver_.ask(2, 2, "name"));
  EXPECT_FALSE(resolver_.answers());
}

TEST_F(LookUpsTest, AnswersOfAnyLengthFit) {
  ASSERT_TRUE(resolver_.ask(1, 1, "name"));
  const Address longest = *parse_address("2001:db8:1111:2222:3333:4444:5555:6666");
  say(to_datagram(Answer{0, {std::vector<Address>(1000, longest), std::string(5000, '\n')}}));
  const auto resolved = resolver_.answers();
  ASSERT_TRUE(resolved);
  ASSERT_EQ(resolved->size(), 1u);
  EXPECT_GE(resolved->front().found.addresses.size(), 64u);
  EXPECT_EQ(resolved->front().found.addresses.back(), longest);
}

// An attacker who has taken over the proxy also has its socket.
TEST(LookUp, OnlyNamesAreLookedUp) {
  auto ends = socket_pair();
  ASSERT_TRUE(ends);
  FakeNames names;
  const auto threads = answer_questions(ends->first.get(),
                                        [&names](const std::string& name) { return names(name); });
  const auto answered = [&](const std::string& question) {
    EXPECT_GE(::send(ends->second.get(), question.data(), question.size(), MSG_NOSIGNAL), 0);
    pollfd event{ends->second.get(), POLLIN, 0};
    if (::poll(&event, 1, scaled_ms(20'000)) != 1) return std::string("nothing");
    char bytes[max_answer_bytes];
    const ssize_t got = ::recv(ends->second.get(), bytes, sizeof bytes, 0);
    return std::string(bytes, static_cast<std::size_t>(std::max<ssize_t>(got, 0)));
  };
  for (const std::string& name :
       {std::string("127.1"), std::string("0x7f.1"), std::string("A.org"), std::string("a.org."),
        std::string(""), std::string("a b"), std::string("a\0.org", 6), std::string(254, 'a'),
        std::string(1000, 'a')}) {
    EXPECT_EQ(answered("3 " + name), "3\nno name\n") << name;
  }
  EXPECT_TRUE(names.asked().empty());
  // An invalid question gets no answer; the next one gets its own.
  for (const char* question : {"x a.org", "4 a.org", "a.org"}) {
    EXPECT_GT(::send(ends->second.get(), question, std::strlen(question), MSG_NOSIGNAL), 0);
  }
  EXPECT_EQ(answered("3 a.org"), "3\n\n192.0.2.1\n");
  EXPECT_THAT(names.asked(), testing::ElementsAre("a.org"));
  ends->second.reset();
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
