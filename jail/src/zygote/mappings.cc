#include "zygote/mappings.h"

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <cstring>

namespace jail::zygote {
namespace {

char text[1 << 16];

// "begin-end access offset device inode name".
Mapping parse(char* line) {
  Mapping mapping{};
  char* at = line;
  mapping.begin = std::strtoull(at, &at, 16);
  mapping.end = std::strtoull(at + 1, &at, 16);
  mapping.access = at + 1;
  for (int field = 0; field < 4; ++field) {
    at = std::strchr(at + 1, ' ');
    *at = '\0';
  }
  do {
    ++at;
  } while (*at == ' ');
  mapping.name = at;
  return mapping;
}

}  // namespace

int visit_mappings(bool (*visit)(const Mapping& mapping, void* own), void* own) {
  const int maps = ::open("/proc/self/maps", O_RDONLY | O_CLOEXEC);
  if (maps < 0) return errno;
  std::size_t kept = 0;
  int error = 0;
  for (bool more = true; more;) {
    const ssize_t got = ::read(maps, text + kept, sizeof text - 1 - kept);
    if (got <= 0) {
      error = got < 0 ? errno : 0;
      break;
    }
    text[kept + static_cast<std::size_t>(got)] = '\0';
    char* line = text;
    while (char* newline = more ? std::strchr(line, '\n') : nullptr) {
      *newline = '\0';
      more = visit(parse(line), own);
      line = newline + 1;
    }
    kept = std::strlen(line);
    std::memmove(text, line, kept);
  }
  ::close(maps);
  return error;
}

}  // namespace jail::zygote
