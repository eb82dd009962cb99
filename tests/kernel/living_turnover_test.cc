// Processes that come and go in a living jail for a long time, each before the last one has ended.
#include <gtest/gtest.h>

#include <deque>
#include <string>
#include <utility>

#include "warm_living.h"

namespace kernel_ring {
namespace {

using jail::Phase;
using jail::Process;
using jail::ProcessPhase;
using jail::ProcessSpec;
using std::chrono::seconds;

constexpr std::size_t at_once = 6;

// What init reckons for a process must not grow with the number of those that were there before.
template <class Base>
class Turnover : public Base {
 protected:
  void keep_busy(const ProcessSpec& spec, int processes) {
    std::deque<Process> running;
    for (int i = 0; i < processes; ++i) {
      running.push_back(this->spawn(spec));
      if (running.size() < at_once) continue;
      const auto ended = running.front().wait(ProcessPhase::ended, scaled(seconds(20)));
      ASSERT_TRUE(ended) << "process " << i << ": " << ended.error().message();
      running.pop_front();
    }
    ASSERT_TRUE(this->jail_->advance());
    EXPECT_EQ(this->jail_->phase(), Phase::running);
  }
};

using LivingTurnover = Turnover<LivingJail>;
using WarmTurnover = Turnover<WarmLivingJail>;

TEST_F(LivingTurnover, OfProcessesThatAreExecuted) {
  jail::JailSpec spec = unhurried_spec();
  spec.limits.memory_bytes = 32u << 20;
  begin(spec);
  keep_busy({.argv = {"/usr/bin/sleep", "0.02"}, .env = {}}, 1000);
}

TEST_F(WarmTurnover, OfForksOfAZygote) {
  jail::TemplateSpec spec = decimal_template();
  spec.jail.limits.memory_bytes = 80u << 20;
  begin(spec);
  keep_busy(warm("brief.py", "import time; time.sleep(0.02)"), 700);
}

}  // namespace
}  // namespace kernel_ring
