// Warm jails: forked from a zygote, confined, waiting; used once.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <poll.h>
#include <signal.h>
#include <unistd.h>

#include <algorithm>
#include <set>
#include <sstream>
#include <thread>
#include <vector>

#include "processes.h"
#include "tests/time_scale.h"
#include "warm_jails.h"

namespace kernel_ring {
namespace {

using jail::Ended;
using jail::Phase;
using jail::Pool;
using std::chrono::milliseconds;
using std::chrono::seconds;
using testing::HasSubstr;

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
  // It holds the memory until init has looked.
  const std::string fill =
      "import time\nx = bytearray(200 << 20)\nfor i in range(0, len(x), 4096): x[i] = 1\n"
      "time.sleep(30)";
  EXPECT_EQ(run_warm(pool, fill, limits).report.ended, Ended::out_of_memory);
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
  const auto deadline = std::chrono::steady_clock::now() + scaled(std::chrono::seconds(30));
  // A zygote serves on until the next one has started.
  const auto is_awaited = [&] {
    const bool is_seen = hashes.size() >= 2 && pool->state().zygotes >= 3;
    return !is_seen && std::chrono::steady_clock::now() < deadline;
  };
  for (int i = 0; i < 12 || is_awaited(); ++i) {
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
  // The program is longer than a pipe's buffer, and must see the same file as in a cold jail.
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
}

TEST(Pool, AStartedInterpreterHasTheLimitsOfItsRun) {
  DrivenPool pool(node_template(), {.least = 1, .usual = 1, .most = 1});
  ASSERT_TRUE(pool.until_ready()) << pool->state().trouble;
  jail::RunLimits limits;
  limits.wall = milliseconds(300);
  const Outcome late = run_warm(pool, "for (;;);", limits);
  EXPECT_EQ(late.report.ended, Ended::timed_out);
  // One thread of it is at work. It ran for longer where init had to wait for a processor.
  EXPECT_LT(late.report.usage.cpu_user + late.report.usage.cpu_system,
            late.report.phases.ran + milliseconds(100));
  // The time that node used before the program came does not count for the program.
  const auto used_by = [](const Outcome& outcome) {
    EXPECT_EQ(outcome.out, "42\n");
    return outcome.report.usage.cpu_user + outcome.report.usage.cpu_system;
  };
  const std::string program = "console.log(6*7)";
  const auto cold = used_by(run(spec_for({"/usr/bin/node", "-e", program})));
  auto least = cold;
  for (int i = 0; i < 10 && least * 4 >= cold * 3; ++i) {
    ASSERT_TRUE(pool.until_ready());
    least = std::min(least, used_by(run_warm(pool, program)));
  }
  EXPECT_LT(least * 4, cold * 3);
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

// A closed connection keeps its port for a minute: a jail that got the same network namespace would
// find it taken.
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

// Each attempt fails, and the kernel counts it: the number is the guest's choice.
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

TEST(Pool, EveryOptimizationCanBeTurnedOff) {
  using jail::ForkOptimizations;
  constexpr auto off = jail::Optimization::off;
  std::vector<ForkOptimizations> turns = {{off, off, off, jail::FrozenHeap::never, off, off, off}};
  for (const auto one : {&ForkOptimizations::rehearsal, &ForkOptimizations::early_end,
                         &ForkOptimizations::network_reuse, &ForkOptimizations::known_pages,
                         &ForkOptimizations::immortal_objects, &ForkOptimizations::fresh_memory}) {
    turns.emplace_back().*one = off;
  }
  for (const auto frozen : {jail::FrozenHeap::never, jail::FrozenHeap::always}) {
    turns.emplace_back().frozen_heap = frozen;
  }
  for (const ForkOptimizations& turn : turns) {
    jail::TemplateSpec spec = python_template();
    spec.imports = {"json"};
    spec.optimizations = turn;
    DrivenPool pool(spec);
    ASSERT_TRUE(pool.until_ready()) << pool->state().trouble;
    EXPECT_EQ(run_warm(pool, "import json; print(json.loads('42'))").out, "42\n");
  }
}

TEST(Pool, WhatIsGivenUpIsNotMadeAgainAtOnceAndRequestsAreServed) {
  DrivenPool pool(python_template());
  ASSERT_TRUE(pool.until_ready(3)) << pool->state().trouble;
  EXPECT_TRUE(pool->give_up_one());
  EXPECT_EQ(pool->state().ready, 2u);
  EXPECT_EQ(pool->state().target, 2u);
  EXPECT_TRUE(pool->give_up_one());
  EXPECT_TRUE(pool->give_up_one());
  EXPECT_FALSE(pool->give_up_one());
  EXPECT_EQ(pool->state().failures, 0u);
  EXPECT_EQ(run_warm(pool, "print(6*7)").out, "42\n");
  EXPECT_EQ(pool->state().misses, 1u);
  EXPECT_EQ(pool->state().ready, 0u);
  EXPECT_TRUE(pool.until_ready(2));
}

// Nobody drives the pool once it has ordered them, so none of them becomes ready.
TEST(Pool, WhatIsBeingMadeAheadIsGivenUpToo) {
  auto pool = Pool::open(launcher(), python_template(), {.usual = 3});
  ASSERT_TRUE(pool) << pool.error().message();
  const auto deadline = std::chrono::steady_clock::now() + scaled(std::chrono::seconds(30));
  while (pool->state().refilling < 3 && std::chrono::steady_clock::now() < deadline) {
    pollfd watched{pool->event_fd(), POLLIN, 0};
    ::poll(&watched, 1, 20);
    pool->advance();
  }
  ASSERT_EQ(pool->state().refilling, 3u) << pool->state().trouble;
  for (std::uint32_t left = 3; left > 0; --left) {
    EXPECT_TRUE(pool->give_up_one());
    EXPECT_EQ(pool->state().refilling, left - 1);
  }
  EXPECT_FALSE(pool->give_up_one());
  pool->advance();
  EXPECT_EQ(pool->state().refilling, 0u) << "it makes more at once";
  EXPECT_EQ(pool->state().failures, 0u);
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
