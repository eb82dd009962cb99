#include "runtime/service/egress_audit.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace runtime {
namespace {

using namespace std::chrono_literals;
using Kind = EgressNews::Kind;
using testing::IsEmpty;
using testing::SizeIs;

class EgressAuditTest : public testing::Test {
 protected:
  static jail::EgressDecision refused(const std::string& to) {
    jail::EgressDecision decision;
    decision.destination = to;
    decision.reason = "no rule names it";
    return decision;
  }
  static jail::EgressDecision allowed(const std::string& to) {
    jail::EgressDecision decision = refused(to);
    decision.allowed = true;
    decision.address = "192.0.2.1";
    decision.reason = to;
    return decision;
  }
  static jail::EgressDecision ended(const std::string& to, std::uint64_t bytes) {
    jail::EgressDecision decision = allowed(to);
    decision.event = jail::EgressEvent::ended;
    decision.reason.clear();
    decision.sent = bytes;
    decision.received = 2 * bytes;
    decision.lasted = 5ms;
    return decision;
  }

  EgressAudit audit_;
  EgressAudit::Time now_ = std::chrono::steady_clock::now();
};

TEST_F(EgressAuditTest, WhatComesSlowlyIsToldOneByOne) {
  for (int times = 0; times < 20; ++times) {
    const auto opened = audit_.add(allowed("pypi.org:443"), now_);
    ASSERT_THAT(opened, SizeIs(1));
    EXPECT_EQ(opened[0].address, "192.0.2.1");
    const auto told = audit_.add(ended("pypi.org:443", 7), now_);
    ASSERT_THAT(told, SizeIs(1));
    EXPECT_EQ(event_kind_of(told[0].kind), SandboxEventKind::egress_ended);
    EXPECT_EQ(std::tuple(told[0].connections, told[0].sent, told[0].received, told[0].lasted),
              std::tuple(1u, 7u, 14u, 5ms));
    now_ += 3s;
  }
  EXPECT_THAT(audit_.take(now_), IsEmpty());
}

TEST_F(EgressAuditTest, ARepeatedRefusalIsToldOnceAndCounted) {
  EXPECT_THAT(audit_.add(refused("evil.test:443"), now_), SizeIs(1));
  for (int times = 0; times < 812; ++times) {
    EXPECT_THAT(audit_.add(refused("evil.test:443"), now_), IsEmpty());
  }
  EXPECT_THAT(audit_.take(now_ - 1s), IsEmpty()) << "not that soon";
  const auto counted = audit_.take(now_);
  ASSERT_THAT(counted, SizeIs(1));
  EXPECT_EQ(counted[0].connections, 812u);
  EXPECT_EQ(counted[0].destination, "evil.test:443");
  EXPECT_EQ(counted[0].reason, "no rule names it");
  EXPECT_THAT(audit_.take(now_), IsEmpty());
}

TEST_F(EgressAuditTest, WhatWasCountedIsToldWithWhatComesLater) {
  for (int times = 0; times < 3; ++times) (void)audit_.add(refused("evil.test:443"), now_);
  now_ += 31s;
  const auto told = audit_.add(refused("evil.test:443"), now_);
  ASSERT_THAT(told, SizeIs(2));
  EXPECT_EQ(told[0].connections, 2u);
  EXPECT_EQ(told[1].connections, 1u) << "after a while it is worth an event of its own again";
}

TEST_F(EgressAuditTest, AFloodOfManyNamesIsBoundedAndCountsAll) {
  std::uint64_t connections = 0;
  std::size_t events = 0;
  const auto count = [&](const std::vector<EgressNews>& told) {
    events += told.size();
    for (const EgressNews& each : told) connections += each.connections;
  };
  for (int times = 0; times < 100'000; ++times) {
    count(audit_.add(refused(std::to_string(times) + ".test:443"), now_));
    now_ += 1ms;  // in all 100 seconds
  }
  count(audit_.take(now_));
  EXPECT_EQ(connections, 100'000u);
  EXPECT_LT(events, 150u);
}

TEST_F(EgressAuditTest, BytesOfWhatIsCountedTogetherAreSums) {
  std::uint64_t sent = 0;
  const auto count = [&](const std::vector<EgressNews>& told) {
    for (const EgressNews& each : told) sent += each.sent;
  };
  for (int times = 0; times < 1000; ++times) count(audit_.add(ended("a.test:443", 3), now_));
  const auto counted = audit_.take(now_);
  ASSERT_THAT(counted, SizeIs(1));
  EXPECT_EQ(counted[0].address, "");
  EXPECT_EQ(counted[0].lasted, 5ms * counted[0].connections);
  count(counted);
  EXPECT_EQ(sent, 3000u);
  EXPECT_EQ(audit_.use().connections, 1000u);
  EXPECT_EQ(audit_.use().sent, 3000u);
  EXPECT_EQ(audit_.use().received, 6000u);
  EXPECT_EQ(audit_.use().refused, 0u);
}

TEST(EgressAudit, AFloodOfOneKindHidesNothingOfAnother) {
  EgressAudit audit;
  const auto now = std::chrono::steady_clock::now();
  jail::EgressDecision refused;
  for (int times = 0; times < 100'000; ++times) {
    refused.destination = std::to_string(times);
    (void)audit.add(refused, now);
  }
  jail::EgressDecision allowed;
  allowed.allowed = true;
  allowed.destination = "pypi.org:443";
  const auto told = audit.add(allowed, now);
  ASSERT_THAT(told, SizeIs(1));
  EXPECT_EQ(told[0].kind, Kind::allowed);
  EXPECT_EQ(told[0].destination, "pypi.org:443");
}

}  // namespace
}  // namespace runtime
