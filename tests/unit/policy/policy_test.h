// The parts that the tests of the shipped policies share.
#pragma once

#include <gtest/gtest.h>
#include <sys/socket.h>
#include <sys/syscall.h>

#include <cerrno>
#include <cstdint>
#include <set>

#include "filter_probe.h"

namespace jail::test {

template <class... Numbers>
Arguments arguments(Numbers... numbers) {
  return {static_cast<std::uint64_t>(numbers)...};
}

class PolicyTest : public testing::Test {
 protected:
  explicit PolicyTest(const Policy& policy) : probe_(policy) {}

  // The answer must be the same when the upper halves, which the kernel ignores, are full.
  std::uint32_t ask(long number, const Arguments& plain = {}) const {
    constexpr std::uint64_t garbage = 0xdeadbeef00000000;
    const std::uint32_t answer = probe_.ask(number, plain);
    Arguments dirty = plain;
    for (std::uint64_t& argument : dirty) argument |= garbage;
    EXPECT_EQ(probe_.ask(number, dirty), answer) << number;
    return answer;
  }
  bool passes(long number, const Arguments& plain = {}) const {
    return ask(number, plain) == allowed;
  }

  // Tries random arguments. `may_pass` are the calls that pass with some arguments.
  void nothing_else_passes(const std::set<long>& may_pass) const {
    Random random(1);
    std::set<long> passed;
    for (long number = 0; number < 1024; ++number) {
      for (int round = 0; round < 2000; ++round) {
        Arguments some{};
        for (std::uint64_t& argument : some) argument = random() >> (random() % 64);
        if (!passes(number, some)) continue;
        passed.insert(number);
        EXPECT_TRUE(may_pass.contains(number)) << number;
        break;
      }
    }
    // Some calls with arguments pass too rarely to be met by chance.
    EXPECT_GT(passed.size() + 10, may_pass.size());
  }

  // Requires that every socket is refused except those for which `may_be_made(domain, type,
  // protocol)`, and every pair.
  template <class MayBeMade>
  void only_these_sockets(MayBeMade may_be_made) const {
    for (std::uint64_t domain = 0; domain <= 46; ++domain) {
      for (std::uint64_t type = 0; type <= 15; ++type) {
        for (std::uint64_t protocol = 0; protocol <= 300; ++protocol) {
          const bool made = may_be_made(domain, type, protocol);
          const auto answer = made ? allowed : fails_with(EAFNOSUPPORT);
          EXPECT_EQ(ask(SYS_socket, {domain, type | SOCK_CLOEXEC | SOCK_NONBLOCK, protocol}),
                    answer)
              << domain << " " << type << " " << protocol;
        }
        EXPECT_EQ(ask(SYS_socketpair, {domain, type, 0}), fails_with(EAFNOSUPPORT));
      }
    }
  }

  void other_architectures_kill() const {
    EXPECT_EQ(probe_.evaluate(AUDIT_ARCH_I386, 1, {}).action, killed);
#if defined(__x86_64__)
    EXPECT_EQ(probe_.ask(0x40000000 | SYS_read), killed);
#endif
  }

  FilterProbe probe_;
};

}  // namespace jail::test
