// Interpreters that were started before their program came, with variables of their own until then.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "warm_jails.h"

namespace kernel_ring {
namespace {

jail::TemplateSpec with_variables_at_start(std::vector<std::string> at_start) {
  jail::TemplateSpec spec;
  spec.name = "variables";
  spec.warmth = jail::Warmth::started;
  spec.jail = spec_for({"/usr/bin/bash", "/workspace/main.py"});
  spec.jail.env = {"FIRST=1", "SECOND=2", "THIRD=3"};
  spec.env_at_start = std::move(at_start);
  return spec;
}

constexpr const char* print_variables = "echo $FIRST$AT_START; tr '\\0' ' ' </proc/$$/environ";

TEST(StartedPool, ProcShowsTheVariablesOfTheJailOnceItsInterpreterWaits) {
  DrivenPool pool(with_variables_at_start({"FIRST=1", "AT_START=longest"}),
                  {.least = 1, .usual = 1, .most = 1});
  ASSERT_TRUE(pool.until_ready()) << pool->state().trouble;
  const Outcome outcome = run_warm(pool, print_variables);
  EXPECT_EQ(outcome.out, "1longest\nFIRST=1 SECOND=2 THIRD=3 ") << outcome.err;
}

TEST(StartedPool, VariablesAtTheStartTakeAsManyBytes) {
  for (const char* other : {"AT_START=long", "AT_START=longer"}) {
    const auto opened = jail::Pool::open(launcher(), with_variables_at_start({"FIRST=1", other}),
                                         {.least = 1, .usual = 1, .most = 1});
    ASSERT_FALSE(opened.has_value()) << other;
    EXPECT_THAT(opened.error().message(), testing::HasSubstr("env_at_start"));
  }
}

TEST(StartedPool, AProgramThatIsMissingIsAnEmptyOne) {
  DrivenPool pool(with_variables_at_start({}), {.least = 1, .usual = 1, .most = 1});
  ASSERT_TRUE(pool.until_ready()) << pool->state().trouble;
  auto jail = pool->lease();
  ASSERT_TRUE(jail) << jail.error().message();
  ASSERT_TRUE(jail->start({}));
  const Outcome outcome = collect(*jail);
  EXPECT_EQ(outcome.report.ended, jail::Ended::exited);
  EXPECT_EQ(outcome.report.exit_code, 0);
}

}  // namespace
}  // namespace kernel_ring
