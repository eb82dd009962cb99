#include "zygote/memory_holder.h"

#include <linux/capability.h>
#include <linux/sched.h>
#include <linux/seccomp.h>
#include <sched.h>
#include <sys/prctl.h>
#include <sys/syscall.h>

#include <atomic>
#include <cstddef>
#include <cstdint>

#include "child/raw_syscall.h"
#include "child/wire.h"

namespace jail::zygote {
namespace {

alignas(16) char stack[4096];
std::atomic<bool> confined{false};

extern "C" [[noreturn, gnu::used]] void jail_hold_memory() {
  raw::call(SYS_close_range, 0, ~0u, 0);
  const long nothing = raw::call(SYS_eventfd2, 0, 0);
  const __user_cap_header_struct header{_LINUX_CAPABILITY_VERSION_3, 0};
  __user_cap_data_struct kept[_LINUX_CAPABILITY_U32S_3] = {};
  kept[CAP_TO_INDEX(CAP_AUDIT_READ)].permitted = CAP_TO_MASK(CAP_AUDIT_READ);
  const bool done = nothing >= 0 &&
                    raw::call(SYS_capset, raw::address(&header), raw::address(kept)) == 0 &&
                    raw::call(SYS_prctl, PR_SET_SECCOMP, SECCOMP_MODE_STRICT) == 0;
  std::uint64_t value = 0;
  if (done) {
    confined.store(true, std::memory_order_release);
    for (;;) raw::call(SYS_read, nothing, raw::address(&value), sizeof value);
  }
  for (;;) raw::call(SYS_exit, 1);
}

}  // namespace

int start_memory_holder() {
  std::int32_t number = wire::memory_holder_pid;
  clone_args args{};
  args.flags = CLONE_VM | CLONE_FS;
  args.stack = static_cast<std::uint64_t>(raw::address(stack));
  args.stack_size = sizeof stack;
  args.set_tid = static_cast<std::uint64_t>(raw::address(&number));
  args.set_tid_size = 1;
  long result;
  // The new process has a stack of its own, on which nothing of this function stands.
#if defined(__x86_64__)
  asm volatile(
      "syscall\n\t"
      "test %%rax, %%rax\n\t"
      "jnz 1f\n\t"
      "call jail_hold_memory\n\t"
      "1:"
      : "=a"(result)
      : "a"(SYS_clone3), "D"(&args), "S"(sizeof args)
      : "rcx", "r11", "memory");
#elif defined(__aarch64__)
  register long x8 asm("x8") = SYS_clone3;
  register long x0 asm("x0") = raw::address(&args);
  register long x1 asm("x1") = sizeof args;
  asm volatile(
      "svc 0\n\t"
      "cbnz x0, 1f\n\t"
      "bl jail_hold_memory\n\t"
      "1:"
      : "+r"(x0)
      : "r"(x8), "r"(x1)
      : "x30", "memory");
  result = x0;
#endif
  return result < 0 ? static_cast<int>(-result) : 0;
}

void wait_for_memory_holder() {
  while (!confined.load(std::memory_order_acquire)) raw::call(SYS_sched_yield);
}

}  // namespace jail::zygote
