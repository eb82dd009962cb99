// Memory in every shape that a guest can ask for. Memory that cannot be reclaimed ends the jail at
// its limit; the report names the reason and the amount.
#include "fixture.h"

namespace {

using namespace jail;

class Bomb : public Cgroup {
 protected:
  void expect_end_at_the_limit(const JailSpec& spec) {
    const ExitReport report = run(spec);
    EXPECT_EQ(report.ended, Ended::out_of_memory) << out_ << err_;
    const double limit = static_cast<double>(spec.limits.memory_bytes);
    EXPECT_LE(report.usage.memory_peak_bytes, limit);
    EXPECT_GE(report.usage.memory_peak_bytes, 0.95 * limit);
    EXPECT_EQ(leaves_at_rest(), 0u);
  }
};

TEST_F(Bomb, OfHeap) {
  expect_end_at_the_limit(python("blocks = []\nwhile True: blocks.append(b'x' * (1 << 20))"));
}

TEST_F(Bomb, OfHeapInAChild) {
  expect_end_at_the_limit(python(R"(
import os
if os.fork() == 0:
    blocks = []
    while True: blocks.append(b'x' * (1 << 20))
os.wait()
print('survived')
)"));
  EXPECT_EQ(out_, "");
}

TEST_F(Bomb, OfFilesInMemory) {
  expect_end_at_the_limit(python(R"(
for name in ('/tmp/a', '/workspace/b'):
    with open(name, 'wb') as file:
        for i in range(60): file.write(b'x' * (1 << 20))
)"));
}

// The policy refuses memfd_create, which no mount's size bounds; POSIX shared memory is a file.
TEST_F(Bomb, OfSharedMemory) {
  expect_end_at_the_limit(python(R"(
import os, mmap
try: os.memfd_create('bomb'); print('memfd')
except OSError: pass
maps = []
for name in ('/dev/shm/a', '/workspace/b'):
    fd = os.open(name, os.O_RDWR | os.O_CREAT)
    os.ftruncate(fd, 60 << 20)
    maps.append(mmap.mmap(fd, 60 << 20))
    os.close(fd)
    for at in range(0, 60 << 20, 1 << 20): maps[-1][at:at + (1 << 20)] = b'x' * (1 << 20)
)"));
  EXPECT_EQ(out_, "");
}

TEST_F(Bomb, OfManyProcesses) {
  expect_end_at_the_limit(python(R"(
import os, time
for i in range(40):
    if os.fork() == 0:
        block = bytearray(4 << 20)
        for at in range(0, len(block), 4096): block[at] = 1
        time.sleep(600)
time.sleep(600)
)"));
}

TEST_F(Bomb, OfPipes) {
  JailSpec spec = python(R"(
import os
while True:
    receive, send = os.pipe()
    os.set_blocking(send, False)
    try:
        while True: os.write(send, b'x' * 65536)
    except BlockingIOError: pass
)");
  // A process may have 512 pipes of 64 KiB.
  spec.limits.memory_bytes = 24u << 20;
  expect_end_at_the_limit(spec);
}

// Reads three times the limit of files that nobody has read before, from one directory: looking
// through a tree takes an emulated machine minutes.
constexpr const char* read_files = R"(
import os
left = 3 * 40 << 20
directory = '/usr/lib/x86_64-linux-gnu/'
for name in os.listdir(directory):
    if left <= 0 or not name.endswith(('.a', '.so')) and '.so.' not in name: continue
    try: file = os.open(directory + name, os.O_RDONLY | os.O_NOFOLLOW)
    except OSError: continue
    while left > 0 and (got := len(os.read(file, 1 << 20))): left -= got
    os.close(file)
print(left <= 0, flush=True)
)";

// The page cache is reclaimed when memory is needed for something else.
TEST_F(Bomb, OfPageCacheIsNone) {
  JailSpec spec = python(read_files);
  spec.limits.memory_bytes = 40u << 20;
  const ExitReport report = run(spec);
  EXPECT_EQ(report.ended, Ended::exited) << err_;
  EXPECT_EQ(out_, "True\n");
  EXPECT_LE(report.usage.memory_peak_bytes, spec.limits.memory_bytes);
  EXPECT_GE(report.usage.memory_peak_bytes, spec.limits.memory_bytes * 95 / 100);
}

TEST_F(Bomb, OfFilesInMemoryBehindPageCache) {
  JailSpec spec = python(std::string(read_files) + R"(
with open('/tmp/a', 'wb') as file:
    for i in range(60): file.write(b'x' * (1 << 20))
print('survived')
)");
  spec.limits.memory_bytes = 40u << 20;
  expect_end_at_the_limit(spec);
  EXPECT_EQ(out_, "True\n");
}

TEST_F(Bomb, ThatStaysBelowTheLimitIsMeasured) {
  const auto peak_of = [this](int megabytes) {
    JailSpec spec = python("block = bytearray(" + std::to_string(megabytes) +
                           " << 20)\nfor at in range(0, len(block), 4096): block[at] = 1");
    spec.limits.memory_bytes = 256u << 20;
    const ExitReport report = run(spec);
    EXPECT_EQ(report.ended, Ended::exited) << err_;
    return static_cast<double>(report.usage.memory_peak_bytes);
  };
  const double without = peak_of(0);
  for (const int megabytes : {40, 160}) {
    const double asked = megabytes * double{1 << 20};
    EXPECT_NEAR(peak_of(megabytes) - without, asked, 0.05 * asked) << megabytes;
  }
}

}  // namespace
