// Warm jails: forked from a zygote, confined, waiting; used once.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <unistd.h>

#include <algorithm>
#include <functional>
#include <set>
#include <sstream>
#include <thread>

#include "guest.h"
#include "processes.h"
#include "tests/driven_pool.h"
#include "tests/time_scale.h"

namespace kernel_ring {
namespace {

using jail::Ended;
using jail::Phase;
using jail::Pool;
using std::chrono::milliseconds;
using std::chrono::seconds;
using testing::HasSubstr;

class DrivenPool : public ::DrivenPool {
 public:
  explicit DrivenPool(jail::TemplateSpec spec, const jail::PoolOptions& options = {.usual = 3})
      : ::DrivenPool(launcher(), std::move(spec), options) {}
};

jail::TemplateSpec python_template() {
  jail::TemplateSpec spec;
  spec.name = "python";
  spec.jail = spec_for({"/usr/bin/python3", "/workspace/main.py"});
  return spec;
}

Outcome finish(jail::Jail& jail, const std::string& code, const jail::RunLimits& limits = {}) {
  const auto ready = jail.wait(Phase::ready, scaled(seconds(10)));
  EXPECT_TRUE(ready) << (ready ? "" : ready.error().message());
  const auto written = jail.write_file("main.py", code, 0644);
  EXPECT_TRUE(written) << (written ? "" : written.error().message());
  jail.take_stdin();
  const auto started = jail.start(limits);
  EXPECT_TRUE(started) << (started ? "" : started.error().message());
  return collect(jail);
}

Outcome run_warm(DrivenPool& pool, const std::string& code, const jail::RunLimits& limits = {}) {
  auto jail = pool->lease();
  if (!jail) {
    ADD_FAILURE() << jail.error().message();
    return {};
  }
  return finish(*jail, code, limits);
}

TEST(Pool, AForkedJailRunsItsProgram) {
  DrivenPool pool(python_template());
  ASSERT_TRUE(pool.until_ready()) << pool->state().trouble;
  const Outcome outcome = run_warm(pool, "print(6*7)\nraise SystemExit(3)");
  EXPECT_EQ(outcome.report.ended, Ended::exited);
  EXPECT_EQ(outcome.report.exit_code, 3);
  EXPECT_EQ(outcome.out, "42\n");
  EXPECT_EQ(outcome.err, "");
}

TEST(Pool, AGuestIsWhatItWouldBeInAColdJail) {
  DrivenPool pool(python_template());
  ASSERT_TRUE(pool.until_ready());
  const std::string code = R"py(
import os, resource, sys
print(os.getpid(), os.getppid(), os.getsid(0), os.getpgid(0), os.getuid(), os.getgid(), os.getgroups())
print(open("/proc/self/cmdline").read().split("\0"), sys.argv, sys.orig_argv, sys.flags)
print(open("/proc/self/environ").read().split("\0") == [k + "=" + v for k, v in os.environ.items()] + [""])
print(sorted(os.environ.items()), os.getcwd(), sorted(os.listdir("/proc/self/fd")), os.listdir("/proc"))
print([(n, resource.getrlimit(getattr(resource, n))) for n in sorted(dir(resource)) if n.startswith("RLIMIT_")])
wanted = ("Name", "Umask", "Seccomp", "NoNewPrivs", "Cap", "Groups", "NSpid", "Threads", "Sig", "Shd")
print("".join(line for line in open("/proc/self/status") if line.startswith(wanted)))
print(open("/proc/self/uid_map").read().split()[::2], open("/proc/self/oom_score_adj").read(), os.uname().nodename)
print(os.readlink("/proc/self/exe"), sorted(sys.modules), sorted(vars(sys.modules["__main__"])))
)py";
  jail::RunLimits limits;
  const Outcome warm = run_warm(pool, code, limits);
  jail::JailSpec spec = spec_for({"/usr/bin/python3", "/workspace/main.py"});
  auto cold_jail = launcher().launch(spec);
  ASSERT_TRUE(cold_jail);
  const Outcome cold = finish(*cold_jail, code, limits);
  EXPECT_EQ(warm.err, "");
  EXPECT_EQ(warm.out, cold.out);
}

TEST(Pool, AJailIsNeverUsedTwice) {
  DrivenPool pool(python_template());
  ASSERT_TRUE(pool.until_ready());
  const std::string code = R"py(
import os
print(os.listdir("/workspace"), os.listdir("/tmp"), "left" in globals())
left = True
open("/tmp/left", "w").write("x")
open("/workspace/left", "w").write("x")
)py";
  for (int i = 0; i < 8; ++i) {
    EXPECT_EQ(run_warm(pool, code).out, "['main.py'] [] False\n");
  }
  EXPECT_EQ(pool->state().leases, 8u);
}

TEST(Pool, LimitsAreThoseOfTheRun) {
  DrivenPool pool(python_template());
  ASSERT_TRUE(pool.until_ready());
  jail::RunLimits limits;
  limits.memory_bytes = 64u << 20;
  EXPECT_EQ(
      run_warm(pool, "x = bytearray(200 << 20)\nfor i in range(0, len(x), 4096): x[i] = 1", limits)
          .report.ended,
      Ended::out_of_memory);
  limits = {};
  limits.wall = milliseconds(300);
  EXPECT_EQ(run_warm(pool, "import time; time.sleep(9)", limits).report.ended, Ended::timed_out);
  limits = {};
  limits.cpu = milliseconds(200);
  EXPECT_EQ(run_warm(pool, "while True: pass", limits).report.ended, Ended::timed_out);
}

TEST(Pool, MoreThanAreReadyAreMadeOnDemand) {
  DrivenPool pool(python_template(), {.least = 1, .usual = 2, .most = 2});
  ASSERT_TRUE(pool.until_ready(2));
  std::vector<jail::Jail> leased;
  for (int i = 0; i < 8; ++i) {
    auto jail = pool->lease();
    ASSERT_TRUE(jail) << jail.error().message();
    leased.push_back(std::move(*jail));
  }
  EXPECT_EQ(pool->state().leased, 8u);
  EXPECT_GE(pool->state().misses, 1u);
  for (jail::Jail& jail : leased) EXPECT_EQ(finish(jail, "print(6*7)").out, "42\n");
  leased.clear();
  EXPECT_EQ(pool->state().leased, 0u);
}

TEST(Pool, ArgumentsAndVariablesReachTheProgramAndItsProcess) {
  DrivenPool pool(python_template());
  ASSERT_TRUE(pool.until_ready());
  auto jail = pool->launch({{"one", "two words", ""}, {"NAME=value", "EMPTY="}});
  ASSERT_TRUE(jail) << jail.error().message();
  const Outcome outcome = finish(*jail, R"py(
import os, subprocess, sys
print(sys.argv[1:], open("/proc/self/cmdline").read().split("\0")[2:], dict(os.environ))
print(open("/proc/self/environ").read().split("\0"), flush=True)
subprocess.run(["/usr/bin/env"])
)py");
  EXPECT_EQ(outcome.err, "");
  EXPECT_EQ(outcome.out,
            "['one', 'two words', ''] ['one', 'two words', '', ''] {'NAME': 'value', 'EMPTY': ''}\n"
            "['NAME=value', 'EMPTY=', '']\nNAME=value\nEMPTY=\n");
}

TEST(Pool, ImportsAreDoneBeforehand) {
  jail::TemplateSpec spec = python_template();
  spec.imports = {"json.decoder", "decimal"};
  spec.warm_up = "import json; json.answer = 42";
  spec.after_fork = "import json; json.answer += 1";
  DrivenPool pool(spec);
  ASSERT_TRUE(pool.until_ready()) << pool->state().trouble;
  const std::string code = "import sys, json; print('decimal' in sys.modules, json.answer)";
  EXPECT_EQ(run_warm(pool, code).out, "True 43\n");
}

TEST(Pool, RehearsesWhereNobodyWaits) {
  jail::TemplateSpec spec = python_template();
  spec.rehearsal = "import json; json.rehearsals = getattr(json, 'rehearsals', 0) + 1";
  DrivenPool pool(spec);
  ASSERT_TRUE(pool.until_ready()) << pool->state().trouble;
  const std::string code = "import json; print(json.rehearsals)";
  EXPECT_EQ(run_warm(pool, code).out, "2\n") << "in the zygote, and in the jail";
  auto asked_for = pool->launch({{}, {}});
  ASSERT_TRUE(asked_for) << asked_for.error().message();
  EXPECT_EQ(finish(*asked_for, code).out, "1\n") << "in the zygote";
}

TEST(Pool, RandomnessIsFreshInEachJail) {
  jail::TemplateSpec spec = python_template();
  spec.imports = {"random", "uuid", "secrets", "ssl", "tempfile"};
  spec.warm_up = "import random, ssl; random.random(); ssl.RAND_bytes(8)";
  DrivenPool pool(spec);
  ASSERT_TRUE(pool.until_ready()) << pool->state().trouble;
  std::set<std::string> seen;
  for (int i = 0; i < 5; ++i) {
    const Outcome outcome = run_warm(pool, R"py(
import os, random, secrets, ssl, tempfile, uuid
for value in (random.random(), uuid.uuid4(), uuid.uuid1(), os.urandom(8).hex(), secrets.token_hex(),
              ssl.RAND_bytes(8).hex(), tempfile.mktemp()):
    print(value)
)py");
    std::istringstream lines(outcome.out);
    int count = 0;
    for (std::string line; std::getline(lines, line); ++count) {
      EXPECT_TRUE(seen.insert(line).second) << line;
    }
    EXPECT_EQ(count, 7) << outcome.err;
  }
}

TEST(Pool, ATemplateThatCannotStartSaysWhy) {
  jail::TemplateSpec spec = python_template();
  spec.imports = {"no_such_module"};
  DrivenPool pool(spec);
  EXPECT_TRUE(pool.until([](const jail::PoolState& state) { return !state.trouble.empty(); }));
  EXPECT_THAT(pool->state().trouble, HasSubstr("No module named 'no_such_module'"));
  EXPECT_FALSE(pool->lease());
}

TEST(Pool, AThreadLeftByATemplateIsRefused) {
  jail::TemplateSpec spec = python_template();
  spec.warm_up = "import threading, time; threading.Thread(target=time.sleep, args=(99,)).start()";
  DrivenPool pool(spec);
  EXPECT_TRUE(pool.until([](const jail::PoolState& state) { return !state.trouble.empty(); }));
  EXPECT_THAT(pool->state().trouble, HasSubstr("left a thread running"));
}

TEST(Pool, AKilledZygoteTakesNoLeasedJailAlong) {
  DrivenPool pool(python_template());
  ASSERT_TRUE(pool.until_ready(3));
  std::vector<jail::Jail> running;
  for (int i = 0; i < 8; ++i) {
    auto jail = pool->lease();
    ASSERT_TRUE(jail) << jail.error().message();
    ASSERT_TRUE(jail->wait(Phase::ready, scaled(seconds(10))));
    ASSERT_TRUE(jail->write_file("main.py", "import time; time.sleep(1); print('alive')", 0644));
    ASSERT_TRUE(jail->start(jail::RunLimits{}));
    running.push_back(std::move(*jail));
  }
  const pid_t zygote = zygote_below(::getpid());
  ASSERT_GT(zygote, 0);
  ASSERT_EQ(::kill(zygote, SIGKILL), 0);
  for (jail::Jail& jail : running) EXPECT_EQ(collect(jail).out, "alive\n");
  ASSERT_TRUE(pool.until([](const jail::PoolState& state) { return state.zygotes >= 2; }));
  ASSERT_TRUE(pool.until_ready(3));
  EXPECT_EQ(run_warm(pool, "print(6*7)").out, "42\n");
}

TEST(Pool, ZygotesAreRecycledAndTheirHashSeedWithThem) {
  DrivenPool pool(python_template(), {.least = 1, .usual = 1, .most = 1, .forks_per_zygote = 2});
  std::set<std::string> hashes;
  for (int i = 0; i < 12; ++i) {
    ASSERT_TRUE(pool.until_ready());
    hashes.insert(run_warm(pool, "print(hash('abc'))").out);
    std::this_thread::sleep_for(milliseconds(200));
  }
  EXPECT_GE(pool->state().zygotes, 3u);
  EXPECT_GE(hashes.size(), 2u);
}

TEST(Pool, APreparedJailTakesAnyProgram) {
  jail::TemplateSpec spec;
  spec.name = "bash";
  spec.warmth = jail::Warmth::prepared;
  spec.jail = spec_for({"/usr/bin/bash", "/workspace/main.py"});
  DrivenPool pool(spec);
  ASSERT_TRUE(pool.until_ready(3));
  EXPECT_EQ(run_warm(pool, "echo $((6*7)); exit 5").out, "42\n");
  jail::RunLimits limits;
  limits.memory_bytes = 1u << 30;
  const Outcome outcome = run_warm(pool, "ulimit -d", limits);
  EXPECT_EQ(outcome.out, std::to_string((4ull * (1u << 30) + (128u << 20)) / 1024) + "\n");
  EXPECT_FALSE(pool->launch({{"argument"}, {}}));
}

jail::TemplateSpec node_template() {
  jail::TemplateSpec spec;
  spec.name = "node";
  spec.warmth = jail::Warmth::started;
  spec.jail = spec_for({"/usr/bin/node", "/workspace/main.py"});
  return spec;
}

TEST(Pool, AStartedInterpreterWaitsForItsProgram) {
  DrivenPool pool(node_template(), {.least = 1, .usual = 2, .most = 2});
  ASSERT_TRUE(pool.until_ready(2)) << pool->state().trouble;
  // Longer than a pipe holds, and as a file what it is in a cold jail.
  const std::string code = "// " + std::string(200'000, 'x') + R"js(
const fs = require("fs");
const own = fs.lstatSync(__filename);
console.log(own.isFile(), own.size === fs.readFileSync(__filename).length, fs.readdirSync("."),
            process.argv.slice(1), process.execArgv, require.main === module);
process.exit(5);
)js";
  auto jail = pool->lease();
  ASSERT_TRUE(jail) << jail.error().message();
  EXPECT_EQ(jail->phase(), jail::Phase::ready);
  const Outcome outcome = finish(*jail, code);
  EXPECT_EQ(outcome.out, "true true [ 'main.py' ] [ '/workspace/main.py' ] [] true\n")
      << outcome.err;
  EXPECT_EQ(outcome.report.exit_code, 5);
  EXPECT_LT(outcome.report.phases.started, milliseconds(10));
}

TEST(Pool, AStartedInterpreterHasTheLimitsOfItsRun) {
  DrivenPool pool(node_template(), {.least = 1, .usual = 1, .most = 1});
  ASSERT_TRUE(pool.until_ready()) << pool->state().trouble;
  jail::RunLimits limits;
  limits.wall = milliseconds(300);
  const Outcome late = run_warm(pool, "for (;;);", limits);
  EXPECT_EQ(late.report.ended, Ended::timed_out);
  EXPECT_LT(late.report.usage.cpu_user + late.report.usage.cpu_system, milliseconds(400));
  ASSERT_TRUE(pool.until_ready());
  const Outcome quick = run_warm(pool, "console.log(6*7)");
  EXPECT_EQ(quick.out, "42\n");
  EXPECT_LT(quick.report.usage.cpu_user + quick.report.usage.cpu_system, milliseconds(60))
      << "what node used before the program came is not the program's";
}

TEST(Pool, AnInterpreterThatDoesNotComeToItsProgramIsTrouble) {
  jail::TemplateSpec spec = node_template();
  spec.jail.argv = {"/usr/bin/true", "/workspace/main.py"};
  DrivenPool pool(spec);
  EXPECT_TRUE(pool.until([](const auto& state) { return !state.trouble.empty(); }));
  EXPECT_THAT(pool->state().trouble, HasSubstr("No child processes"));
  EXPECT_EQ(pool->state().ready, 0u);
  spec.jail.argv = {"/usr/bin/node", "/tmp/main.py"};
  const auto outside = jail::Pool::open(launcher(), spec, {});
  ASSERT_FALSE(outside);
  EXPECT_THAT(outside.error().message(), HasSubstr("is not a file in /workspace"));
}

// A connection that was closed keeps its port for a minute: who got the same network namespace
// would find it taken.
TEST(Pool, ANetworkThatWasUsedServesNobodyElse) {
  DrivenPool pool(python_template(), {.least = 1, .usual = 1, .most = 1});
  const std::string code = R"py(
import os, socket
server = socket.socket()
server.bind(("127.0.0.1", 8080))
server.listen()
client = socket.create_connection(("127.0.0.1", 8080))
connection, _ = server.accept()
connection.close()
client.recv(1)
client.close()
print("connected")
)py";
  for (int i = 0; i < 6; ++i) {
    ASSERT_TRUE(pool.until_ready());
    const Outcome outcome = run_warm(pool, code);
    EXPECT_EQ(outcome.out, "connected\n") << outcome.err;
  }
}

// Each fails, and the kernel counts it: a number of the guest's choice.
TEST(Pool, AttemptsThatFailedAreNoMessageToTheNext) {
  DrivenPool pool(python_template(), {.least = 1, .usual = 1, .most = 1});
  const std::string code = R"py(
import socket
with open("/proc/self/net/snmp") as file:
    names, figures = [line.split() for line in file if line.startswith("Ip:")]
print(figures[names.index("OutNoRoutes")])
with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as sender:
    for _ in range(42):
        try: sender.sendto(b"x", ("10.1.2.3", 4))
        except OSError: pass
)py";
  for (int i = 0; i < 6; ++i) {
    ASSERT_TRUE(pool.until_ready());
    EXPECT_EQ(run_warm(pool, code).out, "0\n");
  }
}

TEST(Pool, ANetworkThatWasNotUsedServesAgainButNeverTwoAtOnce) {
  DrivenPool pool(python_template(), {.least = 1, .usual = 4, .most = 4});
  ASSERT_TRUE(pool.until_ready(4));
  const std::string name = "import os; print(os.stat('/proc/self/ns/net').st_ino)";
  std::vector<jail::Jail> together;
  std::set<std::string> distinct;
  for (int i = 0; i < 4; ++i) {
    auto jail = pool->lease();
    ASSERT_TRUE(jail) << jail.error().message();
    together.push_back(std::move(*jail));
  }
  for (jail::Jail& jail : together) distinct.insert(finish(jail, name).out);
  EXPECT_EQ(distinct.size(), 4u);
  together.clear();
  for (int i = 0; i < 12; ++i) {
    ASSERT_TRUE(pool.until_ready());
    distinct.insert(run_warm(pool, name).out);
  }
  EXPECT_LT(distinct.size(), 16u);
}

TEST(Pool, EveryLeverCanBeTurnedOff) {
  using Turn = std::function<void(jail::Levers&)>;
  const Turn turns[] = {
      [](jail::Levers& levers) { levers.rehearsal = jail::Lever::off; },
      [](jail::Levers& levers) { levers.early_end = jail::Lever::off; },
      [](jail::Levers& levers) { levers.network_reuse = jail::Lever::off; },
      [](jail::Levers& levers) { levers.frozen_heap = jail::FrozenHeap::always; },
      [](jail::Levers& levers) {
        levers = {jail::Lever::off, jail::Lever::off, jail::Lever::off, jail::FrozenHeap::never};
      }};
  for (const Turn& turn : turns) {
    jail::TemplateSpec spec = python_template();
    spec.imports = {"json"};
    turn(spec.levers);
    DrivenPool pool(spec);
    ASSERT_TRUE(pool.until_ready()) << pool->state().trouble;
    EXPECT_EQ(run_warm(pool, "import json; print(json.loads('42'))").out, "42\n");
  }
}

// What has waited for a child is reaped before its end is reported, since nothing else tells what
// the child has used.
TEST(Pool, TheEndOfThreadsIsReportedBeforeTheirMemoryIsTakenApart) {
  const std::string waits =
      "import os\nif (child := os.fork()) == 0: os._exit(0)\nos.waitpid(child, 0)\n";
  const std::string holds = R"py(
import os, threading, time
for _ in range(4): threading.Thread(target=time.sleep, args=(60,), daemon=True).start()
kept = bytearray(b'x') * (150 << 20)
os._exit(7)
)py";
  DrivenPool pool(python_template());
  const auto shortest = [&](const std::string& code) {
    auto least = std::chrono::microseconds::max();
    for (int run = 0; run < 6; ++run) {
      EXPECT_TRUE(pool.until_ready()) << pool->state().trouble;
      const Outcome outcome = run_warm(pool, code);
      EXPECT_EQ(outcome.report.exit_code, 7) << outcome.err;
      EXPECT_GE(outcome.report.usage.memory_peak_bytes, 150u << 20);
      least = std::min(least, outcome.report.phases.ended);
    }
    return least;
  };
  EXPECT_LT(5 * shortest(holds), shortest(waits + holds));
}

TEST(Pool, AFrozenHeapGrowsAndShrinksAsAnyOther) {
  jail::TemplateSpec spec = python_template();
  spec.levers.frozen_heap = jail::FrozenHeap::always;
  spec.imports = {"ctypes", "subprocess", "threading", "decimal"};
  spec.warm_up = "import decimal; decimal.kept = list(range(300000))";
  DrivenPool pool(spec);
  ASSERT_TRUE(pool.until_ready()) << pool->state().trouble;
  const std::string code = R"py(
import ctypes, decimal, resource, subprocess, threading
libc = ctypes.CDLL(None)
libc.sbrk.restype = libc.realloc.restype = libc.malloc.restype = ctypes.c_void_p
decimal.kept.extend(range(700000))            # a block from before the fork grows
assert sum(decimal.kept) == sum(range(300000)) + sum(range(700000))
del decimal.kept[10:]
before = libc.sbrk(0)
assert libc.sbrk(1 << 20) == before and libc.sbrk(0) == before + (1 << 20)
ctypes.memset(before, 1, 1 << 20)
assert libc.sbrk(-(1 << 20)) == before + (1 << 20)
blocks = [libc.malloc(n) for n in (100, 200_000, 5 << 20)]
blocks = [libc.realloc(ctypes.c_void_p(b), 9 << 20) for b in blocks]
for b in blocks:
    ctypes.memset(b, 7, 9 << 20)
    libc.free(ctypes.c_void_p(b))
done = []
threads = [threading.Thread(target=lambda: done.append(len(bytearray(1 << 20)))) for _ in range(8)]
[t.start() for t in threads]
[t.join() for t in threads]
assert len(done) == 8
assert subprocess.run(["/usr/bin/python3", "-c", "print(6*7)"], capture_output=True).stdout == b"42\n"
try:
    bytearray(resource.getrlimit(resource.RLIMIT_DATA)[0])
except MemoryError:
    print("no memory")
)py";
  const Outcome outcome = run_warm(pool, code);
  EXPECT_EQ(outcome.out, "no memory\n") << outcome.err;
  // What one guest wrote into the frozen memory no other sees.
  EXPECT_EQ(run_warm(pool, "import decimal; print(len(decimal.kept))").out, "300000\n");
}

TEST(Pool, InheritedMemoryCountsFromWhenItIsWritten) {
  for (const jail::FrozenHeap frozen : {jail::FrozenHeap::never, jail::FrozenHeap::always}) {
    jail::TemplateSpec spec = python_template();
    spec.levers.frozen_heap = frozen;
    spec.imports = {"json"};
    spec.warm_up = "import json; json.kept = bytearray(b'x') * (80 << 20)";
    DrivenPool pool(spec);
    ASSERT_TRUE(pool.until_ready()) << pool->state().trouble;
    jail::RunLimits limits;
    // Room for half of what is inherited: there may be no other fork to share it with.
    limits.memory_bytes = 172u << 20;
    const std::string fits = R"py(
import json, time
own = bytearray(b'y') * (110 << 20)
time.sleep(0.5)
print(sum(json.kept[::4096]) == 120 * (80 << 8), flush=True)
)py";
    EXPECT_EQ(run_warm(pool, fits, limits).out, "True\n");
    const std::string writes = R"py(
for at in range(0, 70 << 20, 4096): json.kept[at] = 1
time.sleep(20)
)py";
    const Outcome outcome = run_warm(pool, fits + writes, limits);
    EXPECT_EQ(outcome.out, "True\n");
    EXPECT_EQ(outcome.report.ended, Ended::out_of_memory) << to_string(outcome.report.ended);
  }
}

TEST(Pool, WrongTemplatesAreRefusedByName) {
  jail::TemplateSpec spec = python_template();
  spec.name = "Not a name";
  auto refused = Pool::open(launcher(), spec, {});
  ASSERT_FALSE(refused);
  EXPECT_THAT(refused.error().message(), HasSubstr("name"));
  spec = python_template();
  EXPECT_THAT(Pool::open(launcher(), spec, {.least = 9, .usual = 8}).error().message(),
              HasSubstr("least, usual and most"));
  spec.jail.argv = {"/usr/bin/python3"};
  EXPECT_THAT(Pool::open(launcher(), spec, {}).error().message(), HasSubstr("argv"));
}

}  // namespace
}  // namespace kernel_ring
