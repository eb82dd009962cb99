#include "zygote/process_image.h"

#include <fcntl.h>
#include <linux/prctl.h>
#include <sys/prctl.h>
#include <unistd.h>

#include <cerrno>
#include <cstdint>
#include <cstdlib>
#include <cstring>

namespace jail::zygote {
namespace {

// The addresses that PR_SET_MM_MAP wants all of, as /proc/self/stat has them: see proc(5).
int read_map(prctl_mm_map& map) {
  char text[1024];
  const int file = ::open("/proc/self/stat", O_RDONLY | O_CLOEXEC);
  if (file < 0) return errno;
  const ssize_t got = ::read(file, text, sizeof text - 1);
  ::close(file);
  if (got <= 0) return EIO;
  text[got] = '\0';
  char* at = std::strrchr(text, ')');  // the name before it may hold anything
  if (at == nullptr) return EIO;
  std::uint64_t fields[53] = {};
  int field = 3;
  for (at += 4; field < 52 && *at != '\0';) {  // ") R ", then field 4
    fields[++field] = std::strtoull(at, &at, 10);
  }
  map.start_code = fields[26];
  map.end_code = fields[27];
  map.start_stack = fields[28];
  map.start_data = fields[45];
  map.end_data = fields[46];
  map.start_brk = fields[47];
  map.brk = reinterpret_cast<std::uint64_t>(::sbrk(0));
  map.arg_start = fields[48];
  map.arg_end = fields[49];
  map.env_start = fields[50];
  map.env_end = fields[51];
  map.exe_fd = static_cast<std::uint32_t>(-1);
  return 0;
}

int write_map(prctl_mm_map& map) {
  return ::prctl(PR_SET_MM, PR_SET_MM_MAP, &map, sizeof map, 0) == 0 ? 0 : errno;
}

}  // namespace

int end_environment_before(const char* name) {
  prctl_mm_map map{};
  if (const int error = read_map(map); error != 0) return error;
  const std::size_t length = std::strlen(name);
  auto* at = reinterpret_cast<const char*>(map.env_start);
  const auto* end = reinterpret_cast<const char*>(map.env_end);
  while (at < end && !(std::strncmp(at, name, length) == 0 && at[length] == '=')) {
    at += std::strlen(at) + 1;
  }
  if (at >= end) return ENOENT;
  map.env_end = reinterpret_cast<std::uint64_t>(at);
  return write_map(map);
}

int show_arguments(char* arguments, char* arguments_end, char* environment, char* environment_end) {
  prctl_mm_map map{};
  if (const int error = read_map(map); error != 0) return error;
  map.arg_start = reinterpret_cast<std::uint64_t>(arguments);
  map.arg_end = reinterpret_cast<std::uint64_t>(arguments_end);
  map.env_start = reinterpret_cast<std::uint64_t>(environment);
  map.env_end = reinterpret_cast<std::uint64_t>(environment_end);
  return write_map(map);
}

}  // namespace jail::zygote
