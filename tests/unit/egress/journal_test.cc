// Decisions on their way: none is lost without being counted, and nobody waits.
#include "egress/journal.h"

#include <gtest/gtest.h>
#include <sys/socket.h>

#include <map>

#include "egress/wire.h"
#include "parent/order.h"

namespace jail::egress {
namespace {

EgressDecision decision_of(const std::string& jail, const std::string& reason) {
  EgressDecision decision;
  decision.jail = jail;
  decision.destination = "pypi.org:443";
  decision.reason = reason;
  return decision;
}

class JournalTest : public testing::Test {
 protected:
  void SetUp() override {
    auto pair = socket_pair();
    ASSERT_TRUE(pair);
    sockets_ = std::move(*pair);
  }

  void take_all() {
    char bytes[4096];
    for (;;) {
      const ssize_t got = ::recv(sockets_.first.get(), bytes, sizeof bytes, MSG_DONTWAIT);
      if (got <= 0) return;
      const auto decision = parse_decision({bytes, static_cast<std::size_t>(got)});
      ASSERT_TRUE(decision.has_value());
      taken_.push_back(*decision);
    }
  }

  std::pair<Fd, Fd> sockets_;
  std::vector<EgressDecision> taken_;
};

TEST_F(JournalTest, AllInOrderWhereSomebodyReads) {
  Journal journal(sockets_.second.get());
  for (int i = 0; i < 3000; ++i) {
    journal.write(1, decision_of("a", std::to_string(i)));
    if (i % 50 == 0) take_all();
    journal.flush();
  }
  for (int i = 0; i < 100 && taken_.size() < 3000; ++i) {
    take_all();
    journal.flush();
  }
  ASSERT_EQ(taken_.size(), 3000u);
  for (int i = 0; i < 3000; ++i) {
    EXPECT_EQ(taken_[i].reason, std::to_string(i));
    EXPECT_EQ(taken_[i].dropped, 0u);
  }
}

TEST_F(JournalTest, TheOldestOfTheLoudestAreDroppedAndCounted) {
  Journal journal(sockets_.second.get());
  constexpr int loud = 20'000;
  for (int i = 0; i < loud; ++i) {
    journal.write(1, decision_of("loud", std::to_string(i)));
    if (i == loud / 2) journal.write(2, decision_of("quiet", "once"));
  }
  std::size_t before;
  do {
    before = taken_.size();
    take_all();
    journal.flush();
  } while (taken_.size() != before);
  std::map<std::string, std::size_t> by_jail;
  std::uint64_t dropped = 0;
  for (const auto& decision : taken_) {
    ++by_jail[decision.jail];
    dropped += decision.dropped;
  }
  EXPECT_EQ(by_jail["quiet"], 1u);
  EXPECT_GT(dropped, 10'000u);
  EXPECT_EQ(taken_.size() + dropped, loud + 1u);
  EXPECT_EQ(taken_.back().reason, std::to_string(loud - 1));
}

TEST_F(JournalTest, NobodyThere) {
  Journal journal(sockets_.second.get());
  sockets_.first.reset();
  for (int i = 0; i < 10'000; ++i) journal.write(1, decision_of("a", "b"));
  journal.flush();
}

TEST(EgressWire, DecisionsAsTheyWere) {
  EgressDecision decision = decision_of("jail 1", "because");
  decision.event = EgressEvent::ended;
  decision.address = "192.0.2.1";
  decision.allowed = true;
  decision.sent = 1ull << 40;
  decision.received = 7;
  decision.dropped = 9;
  const std::string datagram = to_datagram(decision);
  const auto read = parse_decision(datagram);
  ASSERT_TRUE(read.has_value());
  EXPECT_EQ(to_datagram(*read), datagram);
  EXPECT_EQ(read->jail, "jail 1");
  EXPECT_EQ(read->received, 7u);
  for (std::size_t cut = 0; cut < datagram.size(); ++cut) {
    EXPECT_FALSE(parse_decision(std::string_view(datagram).substr(0, cut)).has_value()) << cut;
  }
  EXPECT_FALSE(parse_decision(datagram + "x").has_value());
}

TEST(EgressWire, WhatIsTooLongOrCannotBePrinted) {
  EgressDecision decision = decision_of(std::string(5000, 'j'), "a\nb\x1b");
  decision.destination = std::string(5000, '\n');
  const std::string datagram = to_datagram(decision);
  EXPECT_LE(datagram.size(), max_decision_bytes);
  const auto read = parse_decision(datagram);
  ASSERT_TRUE(read.has_value());
  EXPECT_EQ(read->reason, "a\\x0ab\\x1b");
  EXPECT_EQ(read->destination.find('\n'), std::string::npos);
}

TEST(EgressWire, SettingsAndAdmissionsAsTheyWere) {
  const Settings settings{
      {{"a.org", *parse_address("192.0.2.1")}, {"a.org", *parse_address("::1")}},
      7,
      std::chrono::seconds(8),
      std::chrono::seconds(9)};
  const auto read = parse_settings(to_text(settings));
  ASSERT_TRUE(read.has_value());
  EXPECT_EQ(read->addresses, settings.addresses);
  EXPECT_EQ(read->connections_per_jail, 7u);
  EXPECT_EQ(read->idle.count(), 8);
  EXPECT_EQ(read->connect.count(), 9);
  const Admission admission = parse_admission(to_datagram({"label", {"a:1", "b:2"}}));
  EXPECT_EQ(admission.label, "label");
  EXPECT_EQ(admission.rules, (std::vector<std::string>{"a:1", "b:2"}));
  EXPECT_TRUE(parse_admission(to_datagram({"label", {}})).rules.empty());
}

}  // namespace
}  // namespace jail::egress
