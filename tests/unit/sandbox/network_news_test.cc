#include "runtime/sandbox/network_news.h"

#include <gtest/gtest.h>

namespace runtime {
namespace {

using Kind = NetworkDecision::Kind;

jail::EgressDecision refusal(const std::string& jail, const std::string& destination) {
  jail::EgressDecision decision;
  decision.jail = jail;
  decision.destination = destination;
  decision.reason = "no rule names it";
  return decision;
}

jail::Network network(const std::string& label) {
  jail::Network network;
  network.kind = jail::Network::Kind::egress;
  network.label = label;
  return network;
}

TEST(NetworkNews, EachProgramHearsOfItsOwn) {
  const auto news = std::make_shared<NetworkNews>();
  const auto first = news->listen(network("first"));
  const auto second = news->listen(network("second"));
  news->note(refusal("first", "a.test:80"));
  news->note(refusal("nobody", "b.test:80"));
  const NetworkUse use = first->take();
  ASSERT_EQ(use.decisions.size(), 1u);
  EXPECT_EQ(use.decisions[0].destination, "a.test:80");
  EXPECT_EQ(use.decisions[0].reason, "no rule names it");
  EXPECT_EQ(use.total, 1u);
  EXPECT_EQ(second->take().total, 0u);
}

TEST(NetworkNews, WhatCameOfAConnectionIsTold) {
  const auto news = std::make_shared<NetworkNews>();
  const auto program = news->listen(network("p"));
  news->note(refusal("p", "a.test:80"));
  jail::EgressDecision decision = refusal("p", "b.test:80");
  decision.allowed = true;
  news->note(decision);
  decision.address = "192.0.2.1";
  news->note(decision);
  decision.event = jail::EgressEvent::ended;
  news->note(decision);
  const NetworkUse use = program->take();
  ASSERT_EQ(use.decisions.size(), 3u);
  EXPECT_EQ(use.decisions[0].kind, Kind::refused);
  EXPECT_EQ(use.decisions[1].kind, Kind::failed);
  EXPECT_EQ(use.decisions[2].kind, Kind::allowed);
  EXPECT_EQ(use.total, 3u);
}

TEST(NetworkNews, AFloodOfOneKindHidesNothingOfAnother) {
  const auto news = std::make_shared<NetworkNews>();
  const auto program = news->listen(network("p"));
  constexpr std::size_t times = 5 * NetworkNews::max_told;
  for (std::size_t i = 0; i < times; ++i) {
    news->note(refusal("p", std::to_string(i) + std::string(1000, 'x')));
    news->note(refusal("p", "0" + std::string(1000, 'x')));
  }
  jail::EgressDecision decision = refusal("p", "a.test:80");
  decision.allowed = true;
  news->note(decision);
  const NetworkUse use = program->take();
  ASSERT_EQ(use.decisions.size(), NetworkNews::max_told + 1);
  EXPECT_EQ(use.decisions.front().connections, times + 1);
  EXPECT_LE(use.decisions.front().destination.size(), 300u);
  EXPECT_EQ(use.decisions.back().kind, Kind::failed);
  EXPECT_EQ(use.total, 2 * times + 1);
}

TEST(NetworkNews, WhoHasNoNetworkOrNoNameHearsNothing) {
  const auto news = std::make_shared<NetworkNews>();
  EXPECT_EQ(news->listen({}), nullptr);
  EXPECT_EQ(news->listen(network("")), nullptr);
}

TEST(NetworkNews, OthersHearTheSame) {
  const auto news = std::make_shared<NetworkNews>();
  const auto program = news->listen(network("p"));
  int heard = 0;
  news->before([&](const jail::EgressDecision&) { ++heard; })(refusal("p", "a.test:80"));
  news->before({})(refusal("p", "a.test:80"));
  EXPECT_EQ(heard, 1);
  EXPECT_EQ(program->take().total, 2u);
}

TEST(NetworkNews, OfAProgramThatIsOverNothingIsKept) {
  const auto news = std::make_shared<NetworkNews>();
  news->listen(network("p"));
  news->note(refusal("p", "a.test:80"));
  EXPECT_EQ(news->listen(network("p"))->take().total, 0u);
}

}  // namespace
}  // namespace runtime
