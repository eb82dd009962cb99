// A policy as the BPF program that the kernel loads.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "jail/policy.h"

namespace jail {

// Each instruction is one `struct sock_filter`. The same policy has the same program on every host
// of an architecture. Errors: those of compile_policy() that the rules are to blame for.
Result<std::vector<std::uint64_t>> program_of(const Policy& policy);

// The programs of the policies that are compiled in, written when the library is built.
std::span<const std::uint64_t> default_policy_program() noexcept;
std::span<const std::uint64_t> egress_policy_program() noexcept;
std::span<const std::uint64_t> lookup_policy_program() noexcept;

}  // namespace jail
