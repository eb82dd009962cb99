// Warm jails in leaves of their own: a guest is in its jail's leaf from its fork on.
#include "fixture.h"
#include "tests/driven_pool.h"

namespace {

using namespace jail;

class WarmJail : public Cgroup {
 protected:
  TemplateSpec python_template() {
    TemplateSpec spec;
    spec.name = "python";
    spec.jail = program({"/usr/bin/python3", "/workspace/main.py"});
    return spec;
  }

  ExitReport run_warm(DrivenPool& pool, const std::string& code, const RunLimits& limits) {
    EXPECT_TRUE(pool.until_ready(1, 6 * patience)) << pool->state().trouble;
    auto jail = pool->lease();
    EXPECT_TRUE(jail) << jail.error().message();
    if (!jail) return {};
    EXPECT_TRUE(jail->wait(Phase::ready, patience));
    EXPECT_TRUE(jail->write_file("main.py", code, 0644));
    EXPECT_TRUE(jail->start(limits));
    return collect(*jail);
  }

  RunLimits limits_ = {.wall = patience, .cpu = patience, .memory_bytes = 64u << 20};
};

TEST_F(WarmJail, RunsInALeafThatGoesWithIt) {
  {
    DrivenPool pool(*launcher_, python_template(), {.least = 1, .usual = 2, .most = 2});
    const ExitReport report =
        run_warm(pool, "print(open('/proc/self/cgroup').read().strip())", limits_);
    EXPECT_EQ(report.ended, Ended::exited) << err_;
    EXPECT_EQ(report.enforcement.memory, Enforcer::cgroup);
    EXPECT_GT(report.usage.memory_peak_bytes, 0u);
    // The guest sees nothing of the tree except its own leaf.
    EXPECT_THAT(out_, testing::EndsWith("0::/\n"));
  }
  EXPECT_EQ(leaves_at_rest(), 0u);
}

TEST_F(WarmJail, MemoryLimitIsThatOfTheRun) {
  DrivenPool pool(*launcher_, python_template(), {.least = 1, .usual = 1, .most = 1});
  const std::string code =
      "x = bytearray(100 << 20)\nfor i in range(0, len(x), 4096): x[i] = 1\nprint('done')";
  EXPECT_EQ(run_warm(pool, code, limits_).ended, Ended::out_of_memory);
  limits_.memory_bytes = 256u << 20;
  EXPECT_EQ(run_warm(pool, code, limits_).ended, Ended::exited);
  EXPECT_EQ(out_, "done\n") << err_;
  limits_.memory_bytes = 32u << 20;
  EXPECT_EQ(run_warm(pool, code, limits_).ended, Ended::out_of_memory);
}

TEST_F(WarmJail, ProcessesAreLimited) {
  TemplateSpec spec = python_template();
  spec.jail.limits.processes = 16;
  DrivenPool pool(*launcher_, spec, {.least = 1, .usual = 1, .most = 1});
  const ExitReport report = run_warm(pool, R"py(
import os, time
made = 0
try:
    while True:
        if os.fork() == 0: time.sleep(60)
        made += 1
except BlockingIOError:
    print(made < 16)
)py",
                                     limits_);
  EXPECT_EQ(report.ended, Ended::exited) << err_;
  EXPECT_EQ(out_, "True\n");
}

}  // namespace
