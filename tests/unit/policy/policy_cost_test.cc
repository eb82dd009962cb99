// The cost of the filter. The kernel answers plain calls from a bitmap that it makes by running the
// program once for each number, so these counts are what remains: calls with argument rules, and
// everything on kernels or architectures without that bitmap.
#include <linux/filter.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <sys/syscall.h>

#include <iostream>

#include "filter_probe.h"

namespace jail::test {
namespace {

TEST(PolicyCost, TheProgramFitsTheKernel) {
  const FilterProbe probe(default_policy());
  const std::size_t size = probe.filter().instructions.size();
  std::cout << "default policy: " << default_policy().rules.size() << " rules, " << size << " of "
            << BPF_MAXINSNS << " instructions\n";
  RecordProperty("instructions", static_cast<int>(size));
  EXPECT_LE(size, 300u);
}

TEST(PolicyCost, CommonCallsTakeFewInstructions) {
  const FilterProbe probe(default_policy());
  const std::pair<const char*, std::pair<long, Arguments>> calls[] = {
      {"read", {SYS_read, {}}},
      {"write", {SYS_write, {}}},
      {"futex", {SYS_futex, {}}},
      {"openat", {SYS_openat, {}}},
      {"mmap", {SYS_mmap, {}}},
      {"close", {SYS_close, {}}},
      {"newfstatat", {SYS_newfstatat, {}}},
      {"ioctl TCGETS", {SYS_ioctl, {0, TCGETS}}},
      {"socket INET6 dgram", {SYS_socket, {AF_INET6, SOCK_DGRAM, 0}}},
  };
  std::size_t sum = 0;
  for (const auto& [name, call] : calls) {
    const Evaluation evaluation =
        probe.evaluate(native_arch, static_cast<std::uint32_t>(call.first), call.second);
    EXPECT_EQ(evaluation.action, allowed) << name;
    EXPECT_LE(evaluation.instructions, 32u) << name;
    std::cout << "  " << name << ": " << evaluation.instructions << " instructions\n";
    sum += evaluation.instructions;
  }
  std::cout << "  mean: " << sum / std::size(calls) << "\n";
  EXPECT_LE(sum / std::size(calls), 20u);
}

}  // namespace
}  // namespace jail::test
