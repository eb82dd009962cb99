#include "server/cli/host_checks.h"

#include <linux/seccomp.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/utsname.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <cstring>
#include <optional>

#include "jail/launcher.h"
#include "runtime/sandbox/template.h"

namespace server {
namespace {

constexpr int min_major = 6;
constexpr int min_minor = 1;

std::string error_text(int number) {
  char room[128];
  return ::strerror_r(number, room, sizeof room);
}

std::string why_no_user_namespace(const HostFiles& files) {
  if (files.first_line("/proc/sys/kernel/apparmor_restrict_unprivileged_userns") == "1") {
    return "AppArmor gives them no power: sysctl kernel.apparmor_restrict_unprivileged_userns=0, "
           "or "
           "a profile for this program with `userns,`";
  }
  if (files.first_line("/proc/sys/kernel/unprivileged_userns_clone") == "0") {
    return "sysctl kernel.unprivileged_userns_clone=1";
  }
  if (files.setting("user/max_user_namespaces") == 0u) {
    return "sysctl user.max_user_namespaces=65536";
  }
  return "in a container: its seccomp profile forbids them; use one that allows unshare, mount and "
         "pivot_root. In a chroot the kernel refuses them: use a container";
}

}  // namespace

std::string kernel_release() {
  utsname name{};
  return ::uname(&name) == 0 ? name.release : "unknown";
}

Check check_kernel(std::string_view release) {
  Check check{
      .name = "kernel", .state = Check::State::good, .found = std::string(release), .advice = {}};
  int major = 0;
  int minor = 0;
  const char* const end = release.data() + release.size();
  const auto first = std::from_chars(release.data(), end, major);
  if (first.ec == std::errc() && first.ptr != end && *first.ptr == '.') {
    std::from_chars(first.ptr + 1, end, minor);
  }
  if (major < min_major || (major == min_major && minor < min_minor)) {
    check.state = Check::State::missing;
    check.advice = "Linux 6.1 or newer is needed";
  }
  return check;
}

Check check_user_namespaces(const HostFiles& files, const Trial& trial) {
  if (trial.error != 0) {
    return {.name = "user namespaces",
            .state = Check::State::missing,
            .found = "cannot be used: " + describe(trial),
            .advice = why_no_user_namespace(files)};
  }
  const auto most = files.first_line("/proc/sys/user/max_user_namespaces").value_or("unknown");
  return {.name = "user namespaces",
          .state = Check::State::good,
          .found = "can be made; at most " + most,
          .advice = {}};
}

Check check_seccomp() {
  const unsigned int action = SECCOMP_RET_KILL_PROCESS;
  if (::syscall(SYS_seccomp, SECCOMP_GET_ACTION_AVAIL, 0, &action) == 0) {
    return {.name = "seccomp", .state = Check::State::good, .found = "filters work", .advice = {}};
  }
  return {.name = "seccomp",
          .state = Check::State::missing,
          .found = "not available: " + error_text(errno),
          .advice = "a kernel with CONFIG_SECCOMP_FILTER is needed"};
}

Check check_landlock() {
  const jail::LandlockReach landlock = jail::landlock_reach();
  if (landlock.version > 0) {
    return {.name = "landlock",
            .state = Check::State::good,
            .found = "ABI " + std::to_string(landlock.version) + ": holds each program's " +
                     (landlock.signals ? "files, signals and abstract sockets"
                                       : "files, not signals and abstract sockets"),
            .advice = {}};
  }
  return {.name = "landlock",
          .state = Check::State::notice,
          .found = "not available",
          .advice =
              "programs are held by mounts, namespaces and their filter alone, and egress's "
              "look-ups may read other processes; boot with lsm=landlock,..."};
}

PoolBounds pool_bounds(const HostFiles& files) {
  PoolBounds bounds;
  rlimit descriptors{};
  if (::getrlimit(RLIMIT_NOFILE, &descriptors) == 0 && descriptors.rlim_max != RLIM_INFINITY) {
    bounds.descriptors = descriptors.rlim_max;
  }
  bounds.pipe_pages = files.setting("fs/pipe-user-pages-soft");
  if (bounds.pipe_pages == 0u) bounds.pipe_pages.reset();  // means: no limit
  bounds.keys = files.setting("kernel/keys/maxkeys");
  bounds.user_namespaces = files.setting("user/max_user_namespaces");
  for (const char* kind : {"pid", "mnt", "net", "ipc", "uts", "cgroup"}) {
    const auto most = files.setting("user/max_" + std::string(kind) + "_namespaces");
    if (most) bounds.other_namespaces = std::min(*most, bounds.other_namespaces.value_or(*most));
  }
  return bounds;
}

Check check_pool_bounds(const PoolBounds& bounds) {
  struct Bound {
    std::string_view name;
    std::optional<std::uint64_t> most;
    std::uint64_t reserve;  // for what is no jail: connections, zygotes
    std::uint64_t a_jail;   // what one takes
    std::string_view advice;
  };
  // A jail has three pipes of sixteen pages. Keyrings are the launcher's and the zygotes'.
  const Bound all[] = {
      {"open files", bounds.descriptors, 600, 12, "raise LimitNOFILE= or ulimit -Hn"},
      {"pipe pages", bounds.pipe_pages, 0, 48, "raise sysctl fs.pipe-user-pages-soft"},
      {"user namespaces", bounds.user_namespaces, 8, 1, "raise sysctl user.max_user_namespaces"},
      {"other namespaces", bounds.other_namespaces, 8, 1,
       "raise sysctl user.max_{pid,mnt,net,ipc,uts,cgroup}_namespaces"},
  };
  Check check{.name = "warm pools", .state = Check::State::good, .found = {}, .advice = {}};
  std::uint64_t jails = UINT64_MAX;
  std::string_view first;
  for (const Bound& bound : all) {
    if (!bound.most) continue;
    const std::uint64_t room = *bound.most > bound.reserve ? *bound.most - bound.reserve : 0;
    if (room / bound.a_jail >= jails) continue;
    jails = room / bound.a_jail;
    first = bound.name;
    check.advice = bound.advice;
  }
  check.found = first.empty() ? "no bound on how many jails there can be"
                              : "room for " + std::to_string(jails) + " jails at once, by " +
                                    std::string(first);
  constexpr std::uint64_t min_keys = 50;
  if (bounds.keys && *bounds.keys < min_keys) {
    check.state = Check::State::notice;
    check.found += "; " + std::to_string(*bounds.keys) + " keys";
    check.advice += (check.advice.empty() ? "" : "; ") +
                    std::string("raise sysctl kernel.keys.maxkeys, each zygote has a keyring");
  }
  // What the default template may keep, and as many that run.
  if (jails < 2 * runtime::max_pool_size) {
    check.state = Check::State::notice;
  } else if (check.state == Check::State::good) {
    check.advice.clear();
  }
  return check;
}

std::vector<Check> check_host(const HostFiles& files) {
  std::vector<Check> checks;
  checks.push_back(check_kernel(kernel_release()));
  checks.push_back(check_user_namespaces(files, try_user_namespace()));
  checks.push_back(check_seccomp());
  checks.push_back(check_landlock());
  checks.push_back(check_pool_bounds(pool_bounds(files)));
  return checks;
}

}  // namespace server
