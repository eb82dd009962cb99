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

// Calls `visit` for each line until it says no.
template <typename Visit>
int visit_lines(const char* path, const Visit& visit) {
  const int maps = ::open(path, O_RDONLY | O_CLOEXEC);
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
      more = visit(line);
      line = newline + 1;
    }
    kept = std::strlen(line);
    std::memmove(text, line, kept);
  }
  ::close(maps);
  return error;
}

}  // namespace

int visit_mappings(bool (*visit)(const Mapping& mapping, void* own), void* own) {
  return visit_lines("/proc/self/maps", [&](char* line) { return visit(parse(line), own); });
}

int visit_mappings_not_inherited(bool (*visit)(const Mapping& mapping, void* own), void* own) {
  constexpr char flags[] = "VmFlags:";
  Mapping last{0, 0, "", ""};
  return visit_lines("/proc/self/smaps", [&](char* line) {
    if (std::strncmp(line, flags, sizeof flags - 1) == 0) {
      const bool is_inherited =
          std::strstr(line, " wf") == nullptr && std::strstr(line, " dc") == nullptr;
      return is_inherited || visit(last, own);
    }
    // Lines of values begin with a capital letter, those of mappings with a digit in hexadecimal.
    if (*line < 'A' || *line > 'Z') {
      char* at = line;
      last.begin = std::strtoull(at, &at, 16);
      last.end = std::strtoull(at + 1, &at, 16);
    }
    return true;
  });
}

}  // namespace jail::zygote
