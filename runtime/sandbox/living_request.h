// A jail that lives until it is ended, as a caller of any front door describes it.
#pragma once

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "jail/egress.h"
#include "jail/jail.h"
#include "jail/launcher.h"
#include "jail/network.h"
#include "runtime/sandbox/run_request.h"

namespace runtime {

// A directory of the host that the sandbox has beside its working directory.
struct LivingVolume {
  std::string source;  // without links in its path
  std::string target;  // a place in the sandbox where nothing else is
  bool is_read_only = false;
  std::uint64_t max_bytes = 0;  // of a single file, where it is writable
};

struct LivingRequest {
  std::string template_name = {};  // the template with its root and policy; empty or "none": the
                                   // server's
  std::uint32_t memory_limit_mb = 256;
  std::uint32_t processes = 128;     // processes and threads
  std::uint32_t cpu_percent = 0;     // of one core; 0: as the operator has it for each jail
  std::uint32_t disk_limit_mb = 64;  // of the working directory, and as much again of /tmp; at most
                                     // memory_limit_mb where it is memory
  // A directory of the host, without links in its path, that is the working directory; empty: a
  // tmpfs is.
  std::string workspace = {};
  // The most that processes and disk_limit_mb may be raised to; 0: they stay. Memory can be raised
  // to the operator's maximum, and so can the processor time.
  std::uint32_t max_processes = 0;
  std::uint32_t max_disk_limit_mb = 0;
  std::vector<LivingVolume> volumes = {};
  std::chrono::milliseconds max_lifetime{std::chrono::hours(24)};  // after which it ends by itself
  jail::Network network = {};
  // A launcher that was asked before and died meanwhile; another one makes the jail. Null: none was
  // asked.
  std::shared_ptr<const jail::Launcher> failed = nullptr;
  // Whether the zygote of the template is to fork programs into it. Neither `workspace` nor
  // `volumes` can be had then, since the template's host does not see them.
  bool is_warm = false;
};

// What forks of a template's zygote have in common.
struct Zygote {
  std::vector<std::string> argv;  // the interpreter, and a file in the directory of all programs
  std::vector<std::string> env;   // its own variables, "NAME=value"
  bool has_imports = false;       // it has imported modules, which may have read its variables
};

// The size of each tmpfs of a sandbox with these limits: no watchdog sees files that the owner
// writes while no process runs.
constexpr std::uint64_t bytes_of_tmpfs(std::uint32_t disk_limit_mb, std::uint32_t memory_limit_mb) {
  return std::uint64_t{std::min(disk_limit_mb, memory_limit_mb)} << 20;
}

// Returns a living proxy. Errors: invalid (there is to be none), and those of EgressProxy::start().
using EgressSource = std::function<jail::Result<std::shared_ptr<const jail::EgressProxy>>()>;

struct LivingJail {
  jail::Jail jail;  // in Phase::launching, with only its loopback interface
  // The launcher that makes the jail. If it dies before init is announced, init never is.
  std::shared_ptr<const jail::Launcher> launcher;
  // Must be called when the jail is given up: the host frees the jail's resources soon after that.
  std::function<void()> on_given_up = [] {};
  jail::Network network = {};  // the destinations of the jail, which its owner has the proxy serve,
                               // and may change
  EgressSource egress = {};    // the source of the proxy; empty: there is none
  Language language = Language::python;         // the template's
  std::optional<Zygote> zygote = std::nullopt;  // forks programs into it; nullopt: none does
};

}  // namespace runtime
