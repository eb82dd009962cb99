// What this process has mapped, line by line of /proc/self/maps: see proc(5).
#pragma once

#include <cstdint>

namespace jail::zygote {

struct Mapping {
  std::uint64_t begin;
  std::uint64_t end;
  const char* access;  // "rw-p" and the like
  const char* name;    // a path, "[heap]" and the like, or ""; both until the visitor returns
};

// Calls `visit` for each until it says no; what it maps or protects may or may not come up later.
// An errno, or 0. Not thread-safe: the text is read into static memory, since reading it must not
// allocate any.
int visit_mappings(bool (*visit)(const Mapping& mapping, void* own), void* own);

// The same for those that a fork finds empty or not at all, see madvise(2); access and name are "".
int visit_mappings_not_inherited(bool (*visit)(const Mapping& mapping, void* own), void* own);

}  // namespace jail::zygote
