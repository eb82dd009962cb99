// Files in which the kernel tells of a process and its cgroup.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "jail/fd.h"

namespace runtime {

// Up to 64 KiB of a file. Nothing: it cannot be read, such as that of a process that is gone.
std::optional<std::string> text_of(const std::string& path);

// The number with which `text` begins.
std::optional<std::uint64_t> number_in(std::string_view text);
// The word that stands behind so many others.
std::string_view word_of(std::string_view text, std::size_t before);
// The number behind `name` at the beginning of a line.
std::optional<std::uint64_t> number_after(std::string_view text, std::string_view name);

// "/proc/PID", by the process's number on this host, which stays its own as long as lives() says
// so. Nothing: it has ended.
std::optional<std::string> process_directory(const jail::Fd& pidfd);
bool lives(const jail::Fd& pidfd);

// The directory of the cgroup v2 of the process whose process_directory() it is. Nothing: there is
// none that this process sees.
std::optional<std::string> cgroup_directory(const std::string& process);

}  // namespace runtime
