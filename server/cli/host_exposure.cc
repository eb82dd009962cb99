#include "server/cli/host_exposure.h"

#include <algorithm>
#include <cerrno>
#include <string>

namespace server {
namespace {

constexpr const char* without_setting = "this kernel has no such setting";

// The kernel loads each of them when an ordinary user asks for its sockets, its algorithms or its
// line discipline, few hosts need them, and faults of them have made users root.
constexpr std::string_view risky_modules[] = {
    "af_key", "algif_aead", "algif_skcipher", "can_bcm", "can_isotp", "dccp", "esp4", "esp6",
    "kafs",   "n_gsm",      "n_hdlc",         "rds",     "rxrpc",     "sctp", "smc",  "tipc"};

Check good(std::string name, std::string found) {
  return {.name = std::move(name),
          .state = Check::State::good,
          .found = std::move(found),
          .advice = {}};
}

Check notice(std::string name, std::string found, std::string advice) {
  return {.name = std::move(name),
          .state = Check::State::notice,
          .found = std::move(found),
          .advice = std::move(advice)};
}

// The devices and files behind the heading of /proc/swaps.
std::string swap_places(std::string_view table) {
  std::string places;
  std::size_t line = table.find('\n');
  while (line != table.npos && line + 1 < table.size()) {
    const std::string_view rest = table.substr(line + 1);
    places +=
        (places.empty() ? "" : ", ") + std::string(rest.substr(0, rest.find_first_of(" \t\n")));
    line = table.find('\n', line + 1);
  }
  return places;
}

// Each line of /proc/modules begins with a name and a blank.
bool has_module(std::string_view table, std::string_view name) {
  for (std::size_t at = table.find(name); at != table.npos; at = table.find(name, at + 1)) {
    const std::size_t end = at + name.size();
    if ((at == 0 || table[at - 1] == '\n') && end < table.size() && table[end] == ' ') return true;
  }
  return false;
}

}  // namespace

Check check_core_pattern(std::string_view pattern) {
  std::string found = "core_pattern is " + std::string(pattern);
  if (!pattern.starts_with('|')) return good("core dumps", std::move(found));
  return notice(
      "core dumps", std::move(found),
      "the kernel runs that program as root when a guest crashes; jails forbid dumps, and "
      "sysctl kernel.core_pattern=core closes the way");
}

Check check_vsock(const Trial& trial) {
  if (trial.error != 0) return good("vsock", "AF_VSOCK is not there");
  return notice("vsock", "AF_VSOCK is there, for talking to the machine around this one",
                "network namespaces do not contain it; jails refuse it by their filter, and where "
                "nothing needs it, `install vsock /bin/false` in /etc/modprobe.d takes it away");
}

Check check_swap(const HostFiles& files) {
  const std::string places = swap_places(files.text("/proc/swaps").value_or(""));
  if (places.empty()) return good("swap", "off");
  return notice(
      "swap", "on: " + places,
      "memory of programs, and keys of the server, may stay on the disk; swapoff -a, or a "
      "swap that is encrypted anew at each boot; jails in a cgroup are not swapped");
}

Check check_same_page_merging(const HostFiles& files) {
  const auto run = files.first_line("/sys/kernel/mm/ksm/run");
  if (run != "1") return good("KSM", run ? "off" : without_setting);
  return notice("KSM", "equal pages of different processes are merged",
                "the time that a write takes tells a program what others have in memory; echo 2 > "
                "/sys/kernel/mm/ksm/run takes them apart");
}

Check check_smt(const HostFiles& files) {
  const auto active = files.first_line("/sys/devices/system/cpu/smt/active");
  if (active != "1") return good("SMT", active ? "off" : without_setting);
  return notice("SMT", "on: two programs may share a core at one time",
                "what one does there the other can measure; where callers must not learn from each "
                "other, echo off > /sys/devices/system/cpu/smt/control, or boot with nosmt");
}

Check check_ptrace(const HostFiles& files) {
  const auto scope = files.first_line("/proc/sys/kernel/yama/ptrace_scope");
  if (scope && scope != "0") return good("ptrace", "kernel.yama.ptrace_scope is " + *scope);
  return notice("ptrace", scope ? "kernel.yama.ptrace_scope is 0" : "Yama is not there",
                "processes of one user may read each other's memory, the server's too; jails "
                "refuse ptrace, but give the server a user of its own, or sysctl "
                "kernel.yama.ptrace_scope=1");
}

Check check_processor(const HostFiles& files) {
  const std::string directory = "/sys/devices/system/cpu/vulnerabilities";
  const std::vector<std::string> all = files.names(directory);
  std::string open;
  for (const std::string& name : all) {
    const std::string line = files.first_line(directory + "/" + name).value_or("");
    if (line.find("Vulnerable") == line.npos) continue;
    open += (open.empty() ? "" : ", ") + name;
  }
  if (all.empty()) return notice("processor", "the kernel does not say what it is open to", {});
  if (open.empty()) return good("processor", "none of the faults that the kernel knows is open");
  return notice(
      "processor", "open to " + open,
      "a program may read memory that is not its own; new microcode and a new kernel, and "
      "for callers that must not trust each other a virtual machine each");
}

Check check_bpf(const HostFiles& files) {
  const auto disabled = files.first_line("/proc/sys/kernel/unprivileged_bpf_disabled");
  if (!disabled) return good("bpf", without_setting);
  if (disabled != "0") return good("bpf", "for privileged processes alone");
  return notice("bpf", "any process of this host may load BPF programs",
                "jails refuse the call; for all others sysctl kernel.unprivileged_bpf_disabled=2");
}

Check check_io_uring(const HostFiles& files) {
  const auto disabled = files.first_line("/proc/sys/kernel/io_uring_disabled");
  if (!disabled) return good("io_uring", std::string(without_setting) + "; jails refuse the calls");
  if (disabled == "2") return good("io_uring", "off");
  return good("io_uring", std::string(disabled == "1" ? "for a group of users"
                                                      : "for any process of this host") +
                              "; jails refuse the calls");
}

Check check_overlay(const Trial& trial) {
  if (trial.error == 0) return good("overlayfs", "can be mounted in a user namespace");
  std::string advice = "no jail can be made without: its root has inodes of its own by them; ";
  advice += trial.error == ENODEV ? "modprobe overlay"
                                  : "in a container, a profile that allows mounts of overlay";
  return {.name = "overlayfs",
          .state = Check::State::missing,
          .found = "cannot be mounted in a user namespace: " + describe(trial),
          .advice = std::move(advice)};
}

Check check_modules(const HostFiles& files) {
  const std::optional<std::string> table = files.text("/proc/modules");
  if (!table) return good("modules", "this kernel does not tell which ones are loaded");
  std::string loaded;
  std::string rules;
  for (const std::string_view name : risky_modules) {
    if (!has_module(*table, name)) continue;
    loaded += (loaded.empty() ? "" : ", ") + std::string(name);
    rules += (rules.empty() ? "`install " : ", `install ") + std::string(name) + " /bin/false`";
  }
  if (loaded.empty()) return good("modules", "none of those that have made users root is loaded");
  return notice(
      "modules", "loaded, and open to any user of this host: " + loaded,
      "jails refuse the sockets behind them; where nothing needs them, modprobe -r, and " + rules +
          " in /etc/modprobe.d");
}

std::vector<Check> check_surface(const HostFiles& files) {
  std::vector<Check> checks;
  checks.push_back(
      check_core_pattern(files.first_line("/proc/sys/kernel/core_pattern").value_or("unreadable")));
  checks.push_back(check_overlay(try_overlay()));
  checks.push_back(check_vsock(try_vsock()));
  checks.push_back(check_ptrace(files));
  checks.push_back(check_bpf(files));
  checks.push_back(check_io_uring(files));
  checks.push_back(check_modules(files));
  checks.push_back(check_swap(files));
  checks.push_back(check_same_page_merging(files));
  checks.push_back(check_smt(files));
  checks.push_back(check_processor(files));
  return checks;
}

}  // namespace server
