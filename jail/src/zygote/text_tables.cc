#include "zygote/text_tables.h"

#include <sys/mman.h>
#include <sys/syscall.h>

#include <cstring>

#include "child/raw_syscall.h"
#include "zygote/mappings.h"

namespace jail::zygote {
namespace {

// Raw calls, and executable all the time: the mapping may be the C library's code, or this one's.
bool write_to(const Mapping& mapping, void* own) {
  const bool is_text = std::strcmp(mapping.access, "r-xp") == 0;
  const bool is_constant = std::strcmp(mapping.access, "r--p") == 0;
  if (mapping.name[0] != '/' || (!is_text && !is_constant)) return true;
  const long before = PROT_READ | (is_text ? PROT_EXEC : 0);
  const auto begin = static_cast<long>(mapping.begin);
  const auto size = static_cast<long>(mapping.end - mapping.begin);
  long error = raw::call(SYS_mprotect, begin, size, before | PROT_WRITE);
  if (error == 0) {
    auto* first = reinterpret_cast<volatile char*>(mapping.begin);
    *first = *first;
    error = raw::call(SYS_mprotect, begin, size, before);
  }
  *static_cast<int*>(own) = static_cast<int>(-error);
  return error == 0;
}

}  // namespace

int copy_text_tables_at_fork() {
  int error = 0;
  const int unread = visit_mappings(write_to, &error);
  return error != 0 ? error : unread;
}

}  // namespace jail::zygote
