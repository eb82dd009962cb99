#include <sys/resource.h>

#include <algorithm>

#include "plan/concerns.h"

namespace jail {
namespace {

// The wire form of prlimit64: glibc's struct rlimit has the width of long.
struct ResourceLimit {
  std::uint64_t soft;
  std::uint64_t hard;
};

class LimitWriter {
 public:
  LimitWriter(Builder& builder, const HostFacts& host) : builder_(builder), host_(host) {}

  // Returns the place of the limit's two values.
  std::uint32_t set(int resource, std::uint64_t wanted, const char* name) {
    const auto index = static_cast<std::size_t>(resource);
    // Raising a hard limit takes a privilege that the guest must not have; a lower limit is as
    // safe.
    const std::uint64_t value =
        index < host_.hard_limits.size() ? std::min(wanted, host_.hard_limits[index]) : wanted;
    const std::uint32_t limit = builder_.reserve(sizeof(ResourceLimit));
    builder_.write(limit, ResourceLimit{value, value});
    builder_.call(
        JAIL_CALL(prlimit64),
        {Builder::value(0), Builder::value(resource), Builder::address(limit), Builder::value(0)},
        std::string("limit ") + name + " to " + std::to_string(value));
    return limit;
  }

 private:
  Builder& builder_;
  const HostFacts& host_;
};

void set_stack(LimitWriter& writer, const Limits& limits) {
  writer.set(RLIMIT_STACK, limits.stack_bytes, "the stack");
}

}  // namespace

// The watchdog looks at what a jail really uses. Between two looks, this limit bounds what a single
// process may map privately. It is well above the jail's own limit, so that exceeding that one is
// recognized even where a busy machine delays init, and so that interpreters can reserve more than
// they touch.
std::uint64_t private_mapping_limit(std::uint64_t memory_bytes) {
  return 4 * memory_bytes + (128u << 20);
}

std::uint64_t cpu_seconds_limit(std::chrono::milliseconds cpu) {
  const auto whole = static_cast<std::uint64_t>(cpu.count()) / 1000;
  return whole + 2;  // init counts the jail's total; this stops one process if init is late
}

// Limits for a zygote only what an interpreter looks at when it starts: the other limits are set
// for its forks.
void add_zygote_limits(Builder& builder, const JailSpec& spec, const HostFacts& host) {
  LimitWriter writer(builder, host);
  set_stack(writer, spec.limits);
}

void add_limits(Builder& builder, Plan& plan, const JailSpec& spec, const HostFacts& host) {
  // Init lowers four of these for each process of a living jail.
  const Limits& limits = spec.max_limits ? *spec.max_limits : spec.limits;
  LimitWriter writer(builder, host);
  // The kernel counts in the jail's own user namespace, where init is one of the processes.
  plan.processes_limit = writer.set(RLIMIT_NPROC, limits.processes + 1, "processes");
  writer.set(RLIMIT_NOFILE, limits.open_files, "open files");
  plan.file_limit = writer.set(RLIMIT_FSIZE, limits.file_bytes, "the size of a file");
  plan.data_limit =
      writer.set(RLIMIT_DATA, private_mapping_limit(limits.memory_bytes), "private memory");
  set_stack(writer, limits);
  plan.cpu_limit =
      writer.set(RLIMIT_CPU, cpu_seconds_limit(limits.cpu), "CPU seconds of a process");
  writer.set(RLIMIT_MEMLOCK, 64u << 10, "locked memory");
  writer.set(RLIMIT_MSGQUEUE, 0, "message queues");
  writer.set(RLIMIT_SIGPENDING, 1024, "pending signals");
  writer.set(RLIMIT_NICE, 0, "nice");
  writer.set(RLIMIT_RTPRIO, 0, "real-time priority");
  // The limit is 1 and not 0: a limit of 0 does not keep the kernel from piping a dump to a
  // core_pattern handler, which runs as root outside of every namespace (core(5)).
  writer.set(RLIMIT_CORE, 1, "core dumps");
}

}  // namespace jail
