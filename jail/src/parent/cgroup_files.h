// The files of one cgroup directory.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "jail/fd.h"
#include "jail/result.h"

namespace jail {

// Errors: refused where this user may not, kernel otherwise.
Error cgroup_error(std::string doing, int error, std::string hint = {});

Fd open_cgroup(const std::string& path);

Result<void> write_cgroup_file(int directory, const std::string& name, const std::string& text);

// Empty where it cannot be read.
std::string read_cgroup_file(int directory, const char* name);

// The number behind `key` in a flat keyed file such as cpu.stat, 0 where it is not.
std::uint64_t keyed_value(std::string_view text, std::string_view key);

bool has_word(std::string_view text, std::string_view word);

}  // namespace jail
