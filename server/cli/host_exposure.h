// What of this host a program could use that found a way past its jail, or past the walls between
// two programs on one processor: settings that an operator chooses.
#pragma once

#include <string_view>
#include <vector>

#include "server/cli/host_checks.h"
#include "server/cli/host_files.h"
#include "server/cli/host_trials.h"

namespace server {

// A pipe there is run as root outside of every namespace, with the guest's memory as its input.
Check check_core_pattern(std::string_view pattern);

// No network namespace contains AF_VSOCK; only the filter keeps jails from it.
Check check_vsock(const Trial& trial);

// What a program had in memory may be on a disk afterwards.
Check check_swap(const HostFiles& files);

// Equal pages of different owners are merged, and the time of a write tells that they were.
Check check_same_page_merging(const HostFiles& files);

// Two programs share the caches and ports of one core.
Check check_smt(const HostFiles& files);

// Whether processes of one user may read each other's memory.
Check check_ptrace(const HostFiles& files);

// What the kernel says of the processor's faults.
Check check_processor(const HostFiles& files);

// Surface of the kernel that jails refuse and others on this host may have.
Check check_bpf(const HostFiles& files);
Check check_io_uring(const HostFiles& files);

// Modules that are loaded, that any user can speak to, and whose faults have made users root.
Check check_modules(const HostFiles& files);

// An overlay gives each jail inodes of its own, so that a lock on a file of the root is not another
// jail's.
Check check_overlay(const Trial& trial);

std::vector<Check> check_surface(const HostFiles& files);

}  // namespace server
