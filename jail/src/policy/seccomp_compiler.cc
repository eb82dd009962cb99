// Compiles a policy to BPF. libseccomp makes the part that dispatches on architecture and call
// number; the part that looks at arguments is appended to its program (argument_block.h).
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <seccomp.h>
#include <sys/mman.h>
#include <unistd.h>

#include <bit>
#include <cerrno>
#include <memory>
#include <mutex>

#include "jail/fd.h"
#include "jail/policy.h"
#include "policy/argument_block.h"
#include "policy/call_rules.h"
#include "policy/looser_rules.h"

namespace jail {
namespace {

using Instructions = std::vector<sock_filter>;

struct ReleaseContext {
  void operator()(void* context) const noexcept { seccomp_release(context); }
};
using Context = std::unique_ptr<void, ReleaseContext>;

// libseccomp returns negative errno values.
Error failure(const Policy& policy, std::string_view doing, int result) {
  std::string text = "compile policy \"" + policy.name + "\": ";
  return {ErrorKind::kernel, text.append(doing), -result, {}};
}

// In the dispatch program a call with tested rules returns its position in the table as a tracing
// action, which no policy can ask for, so that the instruction can be found again and replaced by a
// jump.
std::uint32_t placeholder(std::size_t block) {
  return SECCOMP_RET_TRACE | static_cast<std::uint32_t>(block);
}

Result<Context> make_context(const Policy& policy) {
  Context context(seccomp_init(seccomp_action(policy.otherwise)));
  if (context == nullptr) return failure(policy, "seccomp_init", -ENOMEM);
  // Level 2 is a binary search by number in place of one comparison a call. Calls of another
  // architecture kill the process, and so do x32 numbers, which libseccomp recognizes where x32 is
  // not added.
  if (const int r = seccomp_attr_set(context.get(), SCMP_FLTATR_CTL_OPTIMIZE, 2); r != 0) {
    return failure(policy, "ask for a binary tree", r);
  }
  const int r = seccomp_attr_set(context.get(), SCMP_FLTATR_ACT_BADARCH, SCMP_ACT_KILL_PROCESS);
  if (r != 0) return failure(policy, "kill calls of another architecture", r);
  return context;
}

Result<void> add_calls(const Policy& policy, const CallTable& calls, void* context) {
  std::size_t block = 0;
  for (const auto& [number, call] : calls) {
    const std::uint32_t action =
        call.tested.empty() ? seccomp_action(call.otherwise(policy)) : placeholder(block++);
    // libseccomp refuses a rule that repeats the default action.
    if (action == seccomp_action(policy.otherwise)) continue;
    if (const int r = seccomp_rule_add_exact(context, action, number, 0); r != 0) {
      return failure(policy, "add call " + std::to_string(number), r);
    }
  }
  return {};
}

Result<Instructions> export_program(const Policy& policy, void* context) {
  const Fd memory(memfd_create("seccomp", MFD_CLOEXEC));
  if (!memory.valid()) return failure(policy, "memfd_create", -errno);
  if (const int r = seccomp_export_bpf(context, memory.get()); r != 0) {
    return failure(policy, "export", r);
  }
  const off_t size = ::lseek(memory.get(), 0, SEEK_END);
  if (size < 0) return failure(policy, "size of the exported program", -errno);
  Instructions program(static_cast<std::size_t>(size) / sizeof(sock_filter));
  const std::size_t bytes = program.size() * sizeof(sock_filter);
  const ssize_t got = ::pread(memory.get(), program.data(), bytes, 0);
  if (got < 0) return failure(policy, "read the exported program", -errno);
  if (static_cast<std::size_t>(got) != bytes) return failure(policy, "short program", -EIO);
  return program;
}

Result<Instructions> dispatch_program(const Policy& policy, const CallTable& calls) {
  // libseccomp keeps its findings about the kernel in static variables without a lock.
  static std::mutex one_at_a_time;
  const std::lock_guard lock(one_at_a_time);
  auto context = make_context(policy);
  if (!context) return std::move(context).error();
  if (const auto added = add_calls(policy, calls, context->get()); !added) return added.error();
  return export_program(policy, context->get());
}

void append_argument_blocks(const Policy& policy, const CallTable& calls, Instructions& program) {
  const std::size_t dispatch_size = program.size();
  std::size_t block = 0;
  for (const auto& [number, call] : calls) {
    if (call.tested.empty()) continue;
    const std::uint32_t sought = placeholder(block++);
    for (std::size_t at = 0; at < dispatch_size; ++at) {
      if (program[at].code != (BPF_RET | BPF_K) || program[at].k != sought) continue;
      program[at] = BPF_STMT(BPF_JMP | BPF_JA, static_cast<__u32>(program.size() - at - 1));
    }
    append_argument_block(call, call.otherwise(policy), program);
  }
}

}  // namespace

Result<FilterProgram> compile_policy(const Policy& policy) {
  const auto calls = sort_rules(policy);
  if (!calls) return calls.error();
  auto program = dispatch_program(policy, *calls);
  if (!program) return std::move(program).error();
  append_argument_blocks(policy, *calls, *program);
  if (program->size() > BPF_MAXINSNS) {
    return Error{ErrorKind::invalid,
                 "policy \"" + policy.name + "\": " + std::to_string(program->size()) +
                     " instructions, the kernel takes 4096",
                 0,
                 {}};
  }
  FilterProgram filter;
  filter.instructions.reserve(program->size());
  for (const sock_filter& instruction : *program) {
    filter.instructions.push_back(std::bit_cast<std::uint64_t>(instruction));
  }
  filter.policy = policy.name;
  filter.looser = looser_rules(policy, default_policy());
  return filter;
}

}  // namespace jail
