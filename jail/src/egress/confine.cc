#include "egress/confine.h"

#include <errno.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <limits>
#include <vector>

#include "jail/fd.h"

namespace jail::egress {
namespace {

constexpr rlim_t most_descriptors = 16'384;  // two for each connection of the proxy

void limit(auto resource, rlim_t most) {
  rlimit limits{};
  if (::getrlimit(resource, &limits) != 0) return;
  limits.rlim_max = std::min(limits.rlim_max, most);
  limits.rlim_cur = limits.rlim_max;
  ::setrlimit(resource, &limits);
}

// struct landlock_ruleset_attr of linux/landlock.h, whose installed copy may be older than the
// kernel. An older kernel takes the longer structure where the rest of it is 0.
struct Ruleset {
  std::uint64_t files;
  std::uint64_t network;
  std::uint64_t scopes;
};
constexpr unsigned ask_for_version = 1;
constexpr std::uint64_t bit(int number) { return std::uint64_t{1} << number; }
constexpr std::uint64_t execute = bit(0);
constexpr std::uint64_t write_file = bit(1);
constexpr std::uint64_t read_file_or_directory = bit(2) | bit(3);
constexpr std::uint64_t remove_and_make = bit(13) - bit(4);  // REMOVE_DIR to MAKE_SYM
constexpr std::uint64_t refer = bit(13);
constexpr std::uint64_t truncate = bit(14);
constexpr std::uint64_t ioctl_dev = bit(15);
constexpr std::uint64_t bind_tcp = bit(0);
constexpr std::uint64_t abstract_unix_socket = bit(0);
constexpr std::uint64_t signal = bit(1);

Ruleset ruleset(long version, Files files) {
  Ruleset rules{execute | write_file | remove_and_make, 0, 0};
  if (files == Files::none) rules.files |= read_file_or_directory;
  if (version >= 2) rules.files |= refer;
  if (version >= 3) rules.files |= truncate;
  if (version >= 4) rules.network |= bind_tcp;
  if (version >= 5) rules.files |= ioctl_dev;
  if (version >= 6) rules.scopes |= abstract_unix_socket | signal;
  return rules;
}

// No rule is added, so of what the ruleset handles nothing is permitted anywhere. The filter
// forbids most of that by arguments as well. What it cannot tell apart is why this is here: whose
// /proc files are opened, and which Unix socket is connected to. Who is restricted by Landlock may
// not look into processes that are not, whatever the rules say. A kernel without Landlock has the
// filter alone.
bool restrict_files(Files files) {
  const long version = ::syscall(SYS_landlock_create_ruleset, nullptr, 0, ask_for_version);
  if (version < 0) return errno == ENOSYS || errno == EOPNOTSUPP;
  const Ruleset rules = ruleset(version, files);
  const Fd made(static_cast<int>(::syscall(SYS_landlock_create_ruleset, &rules, sizeof rules, 0)));
  return made.valid() && ::syscall(SYS_landlock_restrict_self, made.get(), 0) == 0;
}

bool load(std::string_view filter) {
  constexpr std::size_t size = sizeof(sock_filter);
  std::vector<sock_filter> instructions(filter.size() / size);
  if (filter.empty() || filter.size() % size != 0 ||
      instructions.size() > std::numeric_limits<unsigned short>::max()) {
    errno = EINVAL;
    return false;
  }
  std::memcpy(instructions.data(), filter.data(), filter.size());
  const sock_fprog program{static_cast<unsigned short>(instructions.size()), instructions.data()};
  return ::syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, 0, &program) == 0;
}

Confinement failed(const char* doing) { return {errno, doing}; }

}  // namespace

Confinement confine(std::string_view filter, Files files) {
  limit(RLIMIT_NOFILE, most_descriptors);
  limit(RLIMIT_CORE, 0);
  limit(RLIMIT_FSIZE, 0);
  if (::prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0) return failed("set no_new_privs");
  if (::prctl(PR_SET_DUMPABLE, 0, 0, 0, 0) != 0) return failed("close it to other processes");
  if (!restrict_files(files)) return failed("restrict it by Landlock");
  if (!load(filter)) return failed("load its system call filter");
  return {};
}

void make_no_more_threads() { limit(RLIMIT_NPROC, 0); }

}  // namespace jail::egress
