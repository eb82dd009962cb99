#include "server/cli/egress_log.h"

#include <gtest/gtest.h>

#include <string>

namespace server {
namespace {

TEST(EgressLog, AFloodIsAFewLinesAndHidesNoOtherSandbox) {
  std::string text;
  runtime::Logger logger(
      {.level = {}, .format = {}, .write = [&text](std::string_view line) { text += line; }});
  EgressLog log(logger);
  jail::EgressDecision refused;
  refused.jail = "flood";
  for (int i = 0; i < 10'000; ++i) {
    refused.destination = std::to_string(i) + ".test:443";
    log.tell(refused);
  }
  EXPECT_LT(text.size(), 20'000u);
  EXPECT_NE(text.find("0.test:443"), text.npos);
  jail::EgressDecision other;
  other.jail = "other";
  other.allowed = true;
  other.destination = "allowed.test:443";
  log.tell(other);
  EXPECT_NE(text.find("allowed.test:443"), text.npos);
}

}  // namespace
}  // namespace server
