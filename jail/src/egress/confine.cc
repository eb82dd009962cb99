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

#include "child/landlock.h"
#include "jail/fd.h"

namespace jail::egress {
namespace {

constexpr rlim_t max_descriptors = 16'384;  // two for each connection of the proxy

void limit(auto resource, rlim_t most) {
  rlimit limits{};
  if (::getrlimit(resource, &limits) != 0) return;
  limits.rlim_max = std::min(limits.rlim_max, most);
  limits.rlim_cur = limits.rlim_max;
  ::setrlimit(resource, &limits);
}

// No rule is added, so nothing that the ruleset handles is permitted anywhere. The filter forbids
// most of that by arguments as well. The ruleset is needed for what the filter cannot tell apart:
// whose /proc files are opened, and which Unix socket is connected to. A process that Landlock
// restricts may not look into processes that it does not restrict, whatever the rules say. A kernel
// without Landlock has the filter alone.
bool restrict_files(Files files) {
  const auto version = static_cast<int>(
      ::syscall(SYS_landlock_create_ruleset, nullptr, 0, landlock::ask_for_version));
  if (version < 0) return errno == ENOSYS || errno == EOPNOTSUPP;
  landlock::Ruleset rules{landlock::known_file_rights(version),
                          landlock::known_network_rights(version), landlock::known_scopes(version)};
  if (files == Files::readable) rules.files &= ~(landlock::read_file | landlock::read_directory);
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
  limit(RLIMIT_NOFILE, max_descriptors);
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
