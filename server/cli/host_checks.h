// What this host offers for making jails, found out by trying rather than by reading settings. What
// it offers to a program that gets out of one: host_exposure.h.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "server/cli/host_files.h"
#include "server/cli/host_trials.h"

namespace server {

struct Check {
  std::string name;
  enum class State {
    good,
    notice,   // jails run; the operator may want to know
    missing,  // jails cannot run
  } state = State::good;
  std::string found;
  std::string advice;  // empty where nothing is to be done
};

std::string kernel_release();

// By the text of uname -r. Everything before 6.1 is missing.
Check check_kernel(std::string_view release);

// Where they cannot be used the files say who forbids it.
Check check_user_namespaces(const HostFiles& files, const Trial& trial);
Check check_seccomp();
Check check_landlock();

// What the host shares out among all jails of one user; nothing where it sets no bound.
struct PoolBounds {
  std::optional<std::uint64_t> descriptors;       // the hard limit of this process
  std::optional<std::uint64_t> pipe_pages;        // fs.pipe-user-pages-soft
  std::optional<std::uint64_t> keys;              // kernel.keys.maxkeys
  std::optional<std::uint64_t> user_namespaces;   // user.max_*_namespaces
  std::optional<std::uint64_t> other_namespaces;  // the least of pid, mnt, net, ipc, uts and cgroup
};

PoolBounds pool_bounds(const HostFiles& files);

// How many jails can wait at once, and the bound that is met first.
Check check_pool_bounds(const PoolBounds& bounds);

// All of them, in the order of the report. To be called while there is only one thread.
std::vector<Check> check_host(const HostFiles& files);

}  // namespace server
