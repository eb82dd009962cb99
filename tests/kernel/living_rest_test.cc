// The cost of init of a living jail while its processes wait for something.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <fstream>
#include <limits>
#include <string>
#include <thread>

#include "living_jail.h"
#include "processes.h"
#include "tests/time_scale.h"

namespace kernel_ring {
namespace {

using std::chrono::milliseconds;

class LivingRest : public LivingJail {
 protected:
  // Returns the nanoseconds of a processor that init uses within a second: the least of three
  // seconds, because what a busy host does meanwhile is charged to init and only adds.
  std::uint64_t cost_of_a_second() {
    std::uint64_t least = std::numeric_limits<std::uint64_t>::max();
    for (int second = 0; second < 3; ++second) {
      const std::uint64_t before = used_by_init();
      std::this_thread::sleep_for(milliseconds(1000));
      least = std::min(least, used_by_init() - before);
    }
    return least;
  }

 private:
  std::uint64_t used_by_init() {
    const pid_t init = process_of(jail_->process_fd());
    std::ifstream file("/proc/" + std::to_string(init) + "/schedstat");
    std::uint64_t used = 0;
    EXPECT_TRUE(file >> used);
    return used;
  }
};

TEST_F(LivingRest, AProcessThatWaitsCostsAPartOfOneThatRuns) {
  begin(unhurried_spec());
  const std::string a_word = "import sys, time\nprint('ready', flush=True)\n";
  jail::Process waits = attacker(python_process(a_word + "time.sleep(60)"));
  const std::uint64_t at_rest = cost_of_a_second();
  jail::Process runs = attacker(python_process(a_word + "while True: time.sleep(0.005)"));
  const std::uint64_t at_work = cost_of_a_second();
  EXPECT_LT(at_rest * 2, at_work);
}

}  // namespace
}  // namespace kernel_ring
