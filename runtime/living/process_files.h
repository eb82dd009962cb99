// Readers of the kernel's files about a process and its cgroup.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "jail/fd.h"

namespace runtime {

// Returns up to 64 KiB of a file, or std::nullopt where it cannot be read, such as that of a
// process that is gone.
std::optional<std::string> text_of(const std::string& path);

// The number with which `text` begins.
std::optional<std::uint64_t> number_in(std::string_view text);
// The word that follows `before` other words.
std::string_view word_of(std::string_view text, std::size_t before);
// The number behind `name` at the beginning of a line.
std::optional<std::uint64_t> number_after(std::string_view text, std::string_view name);

// Returns "/proc/PID", by the process's number on this host, which stays the process's own as long
// as lives() is true; std::nullopt where it has ended.
std::optional<std::string> process_directory(const jail::Fd& pidfd);
bool lives(const jail::Fd& pidfd);

// The same of this process and of all that it and its children have made and that still run, at
// most 4096; empty where it has ended.
std::vector<std::string> processes_below(const jail::Fd& pidfd);

// Returns the directory of the cgroup v2 of the process whose process_directory() is given;
// std::nullopt where this process sees none.
std::optional<std::string> cgroup_directory(const std::string& process);

}  // namespace runtime
