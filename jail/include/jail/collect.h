// What a guest left in its working directory, as values. The guest chose every name, type and size
// in there, so collecting follows no link, waits for nothing and bounds everything.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "jail/result.h"

namespace jail {

// Why a file that a glob names was not collected.
enum class SkipReason : std::uint8_t {
  not_regular,       // a symbolic link, FIFO, socket or device
  several_links,     // a hard link: the same file under another name
  too_large,         // beyond CollectLimits::file_bytes
  total_too_large,   // would exceed CollectLimits::total_bytes
  too_many,          // beyond CollectLimits::files
  too_deep,          // beyond CollectLimits::depth
  too_many_entries,  // CollectLimits::entries or comparisons ran out in this directory
  permission,        // its mode keeps even its owner out
  unreadable,        // any other failure to open or read it
};

// The reason in words, such as "not a regular file".
std::string_view to_string(SkipReason reason) noexcept;

// A regular file with all of its content.
struct CollectedFile {
  std::string path;  // relative, bytes as the guest named it: not necessarily UTF-8
  std::string content;
};

// A file that a glob names but that was not collected.
struct SkippedFile {
  std::string path;
  SkipReason reason = SkipReason::unreadable;
};

// How much collect() takes and how hard it looks. A bound that runs out is a SkipReason.
struct CollectLimits {
  std::uint32_t files = 64;
  std::uint64_t file_bytes = 4u << 20;
  std::uint64_t total_bytes = 8u << 20;
  std::uint32_t depth = 32;       // directories above a file; each one takes a descriptor meanwhile
  std::uint32_t entries = 65536;  // looked at, whether a glob names them or not
  // Bytes of globs times bytes of names that are compared: a second's work for a patient attacker.
  std::uint64_t comparisons = 200'000'000;
  std::uint32_t listed_skips = 256;
};

// What collect() found.
struct Collection {
  std::vector<CollectedFile> files;  // in order of their paths' components
  std::vector<SkippedFile> skipped;  // the first CollectLimits::listed_skips of them
  std::uint64_t skipped_total = 0;
};

// A glob is a relative path. In a component `*`, `?` and `[...]` match as glob(7) says; a component
// that is `**` matches any number of directories. A name that begins with a dot is matched only by
// a component that begins with one.
// Errors: invalid, for an empty glob or component, "." or "..", a leading '/', a NUL, more than
// 512 bytes or 32 components.
Result<void> check_glob(std::string_view glob);

// Returns whether `glob` names the relative `path`, as collect() would take it.
bool glob_names(const std::string& glob, std::string_view path);

// The regular files below `directory` that any of `globs` names, each once. Meant for
// Jail::working_directory_fd() once every process of the jail is dead; a process that still writes
// there can spoil what is read, but not lead it out of the directory. Blocks while it reads.
// A glob that check_glob() refuses names nothing.
Collection collect(int directory, std::span<const std::string> globs, const CollectLimits& limits);

}  // namespace jail
