// A compiled jail: every system call between clone3 and the guest, as a flat list.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "child/wire.h"
#include "jail/fd.h"
#include "jail/pool.h"
#include "jail/result.h"
#include "jail/spec.h"

namespace jail {

// The purpose of a call, in the parent's words. The child only carries the number.
struct CallText {
  std::string system_call;
  std::string purpose;  // "mount /usr read-only"

  bool operator==(const CallText&) const = default;
};

struct CallList {
  std::vector<wire::Call> calls;
  std::vector<CallText> texts;  // one for each call

  bool operator==(const CallList&) const = default;
};

struct Plan {
  wire::PlanKind kind = wire::plan_cold;
  CallList init;
  CallList guest;
  std::string bytes;                       // strings and structures that calls point to
  std::vector<std::uint32_t> relocations;  // places in `bytes` that hold an offset into `bytes`
  std::uint64_t clone_flags = 0;
  std::uint64_t page_bytes = 4096;
  std::uint64_t max_mappings = 65'530;
  std::uint32_t data_limit = 0;  // places in `bytes`, see wire::PlanHeader
  std::uint32_t cpu_limit = 0;
  std::uint32_t processes_limit = 0;
  std::uint32_t file_limit = 0;
  std::uint32_t program = 0;
  std::uint32_t shown_variables = 0;
  std::uint64_t shown_variables_bytes = 0;
  // See wire::PlanHeader.
  static constexpr std::uint32_t nowhere = ~std::uint32_t{0};
  std::uint32_t uid_map = nowhere;
  std::uint32_t gid_map = nowhere;
  bool workspace_is_on_disk = false;

  bool operator==(const Plan&) const = default;
};

// Ids of the host, beside the launcher's, of which each jail has one of its own.
struct IdsOfJails {
  std::uint32_t first_uid = 0;
  std::uint32_t first_gid = 0;
  std::uint32_t count = 0;  // 0: there are none, and all jails have the launcher's
};

// The facts about the host that a plan depends on, so that compile() itself asks nothing.
struct HostFacts {
  std::uint32_t uid = 0;  // that of the launcher, to which the guest's ids map
  std::uint32_t gid = 0;
  IdsOfJails ids_of_jails;
  int last_capability = 0;
  int landlock = 0;  // version of its interface; 0 where guests go without
  std::uint64_t page_bytes = 4096;
  std::uint64_t max_mappings = 65'530;     // sysctl vm.max_map_count
  std::vector<std::uint64_t> hard_limits;  // by RLIMIT_ number; a guest cannot get more

  static HostFacts of_this_host(std::uint32_t uid, std::uint32_t gid);
};

// Errors: ErrorKind::invalid (names the field of the spec).
Result<Plan> compile(const JailSpec& given, const HostFacts& host);

// The plan for an interpreter that is started before its program is there; argv ends in the
// program's path, which is in the working directory. `env_at_start` is that of TemplateSpec.
Result<Plan> compile_started(const JailSpec& spec, const std::vector<std::string>& env_at_start,
                             const HostFacts& host);

// The two plans of a template whose jails are forked from a zygote: that of the host, which makes
// what its jails share and executes the zygote, and that of each jail in it.
Result<Plan> compile_host(const JailSpec& given, const HostFacts& host);
Result<Plan> compile_forked(const JailSpec& given, const HostFacts& host,
                            Optimization network_reuse);

// The plan of a living jail in such a host, into which the zygote forks processes beside those that
// are executed. Each process is in a Landlock domain of its own, so they neither signal nor see
// each other. Init is in no domain, since a forked process cannot enter a domain that others are
// in. Errors: also unsupported, where Landlock does not scope signals.
Result<Plan> compile_living_in_host(const JailSpec& given, const HostFacts& host);

// RLIMIT_DATA and RLIMIT_CPU of a guest with these limits.
std::uint64_t private_mapping_limit(std::uint64_t memory_bytes);
std::uint64_t cpu_seconds_limit(std::chrono::milliseconds cpu);

// The plan in words, one line a call, for people and for golden tests.
std::string to_text(const Plan& plan);

// The section that lists what `spec` loosens, each with its reason.
std::string loosened_text(const JailSpec& spec);

// Describes the call at `index` of the list of `phase` (0 init, 1 guest): "mount /usr read-only
// (step 9 of 122)".
std::string describe_call(const Plan& plan, std::uint32_t phase, std::int32_t index);

// The plan as a sealed memfd, which the launcher maps.
Result<Fd> to_image(const Plan& plan);

}  // namespace jail
