// The memory of jails that are forked from a zygote: what is inherited, what is frozen, what is
// left at the end.
#include <gtest/gtest.h>

#include <algorithm>
#include <chrono>
#include <string>

#include "warm_jails.h"

namespace kernel_ring {
namespace {

using jail::Ended;

// A process that has waited for a child is reaped before its end is reported, since nothing else
// tells the child's usage.
TEST(PoolMemory, TheEndOfThreadsIsReportedBeforeTheirMemoryIsTakenApart) {
  const std::string waits =
      "import os\nif (child := os.fork()) == 0: os._exit(0)\nos.waitpid(child, 0)\n";
  const std::string holds = R"py(
import os, threading, time
for _ in range(4): threading.Thread(target=time.sleep, args=(60,), daemon=True).start()
kept = bytearray(b'x') * (150 << 20)
os._exit(7)
)py";
  DrivenPool pool(python_template());
  const auto end_of = [&](const std::string& code) {
    EXPECT_TRUE(pool.until_ready()) << pool->state().trouble;
    const Outcome outcome = run_warm(pool, code);
    EXPECT_EQ(outcome.report.exit_code, 7) << outcome.err;
    EXPECT_GE(outcome.report.usage.memory_peak_bytes, 150u << 20);
    return outcome.report.phases.ended;
  };
  // On a busy host any one of them may take long, and so may the shortest of a few.
  auto apart = std::chrono::microseconds::max();
  auto early = std::chrono::microseconds::max();
  constexpr int min_runs = 3;
  constexpr int max_runs = 40;
  for (int run = 0; run < max_runs && (run < min_runs || 2 * early >= apart); ++run) {
    early = std::min(early, end_of(holds));
    apart = std::min(apart, end_of(waits + holds));
  }
  EXPECT_LT(2 * early, apart);
}

TEST(PoolMemory, AFrozenHeapGrowsAndShrinksAsAnyOther) {
  jail::TemplateSpec spec = python_template();
  spec.optimizations.frozen_heap = jail::FrozenHeap::always;
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
  // No other guest sees what one wrote into the frozen memory.
  EXPECT_EQ(run_warm(pool, "import decimal; print(len(decimal.kept))").out, "300000\n");
}

// The C library keeps the state of its random numbers in such memory.
TEST(PoolMemory, WhatAForkFindsEmptyIsEmptyInAFrozenHeapToo) {
  jail::TemplateSpec spec = python_template();
  spec.optimizations.frozen_heap = jail::FrozenHeap::always;
  spec.imports = {"decimal", "mmap"};
  spec.warm_up = R"py(
import decimal, mmap
decimal.kept, decimal.wiped = (mmap.mmap(-1, 8192, mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS) for _ in range(2))
decimal.wiped.madvise(18)  # MADV_WIPEONFORK
decimal.kept[:4] = decimal.wiped[:4] = b'mine'
)py";
  DrivenPool pool(spec);
  ASSERT_TRUE(pool.until_ready()) << pool->state().trouble;
  const Outcome outcome =
      run_warm(pool, "import decimal; print(decimal.kept[:4], decimal.wiped[:4])");
  EXPECT_EQ(outcome.out, "b'mine' b'\\x00\\x00\\x00\\x00'\n") << outcome.err;
}

TEST(PoolMemory, InheritedMemoryCountsFromWhenItIsWritten) {
  for (const jail::FrozenHeap frozen : {jail::FrozenHeap::never, jail::FrozenHeap::always}) {
    jail::TemplateSpec spec = python_template();
    spec.optimizations.frozen_heap = frozen;
    spec.imports = {"json"};
    spec.warm_up = "import json; json.kept = bytearray(b'x') * (80 << 20)";
    DrivenPool pool(spec);
    ASSERT_TRUE(pool.until_ready()) << pool->state().trouble;
    jail::RunLimits limits;
    // The limit has room for half of the inherited memory: there may be no other fork to share it
    // with.
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

}  // namespace
}  // namespace kernel_ring
