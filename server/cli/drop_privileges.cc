#include "server/cli/drop_privileges.h"

#include <grp.h>
#include <linux/capability.h>
#include <pwd.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <charconv>
#include <cstdio>
#include <cstring>
#include <memory>
#include <string>
#include <vector>

namespace server {
namespace {

bool root_has_ended = false;

jail::Error cannot_drop(const std::string& doing, int error) {
  return {jail::ErrorKind::refused, "drop root privileges: " + doing, error,
          "start as an unprivileged user instead"};
}

std::optional<Identity> find_by_name(const std::string& name) {
  passwd entry{};
  passwd* found = nullptr;
  std::vector<char> room(4096);
  int error = 0;
  while ((error = ::getpwnam_r(name.c_str(), &entry, room.data(), room.size(), &found)) == ERANGE) {
    room.resize(room.size() * 2);
  }
  if (error != 0 || found == nullptr) return std::nullopt;
  return Identity{.uid = entry.pw_uid, .gid = entry.pw_gid};
}

struct CloseFile {
  void operator()(std::FILE* file) const { std::fclose(file); }
};

// Asks the host's own file and no service, which would say whom root becomes.
std::optional<Identity> find_in_passwd(const char* name) {
  const std::unique_ptr<std::FILE, CloseFile> file(std::fopen("/etc/passwd", "re"));
  if (file == nullptr) return std::nullopt;
  passwd entry{};
  passwd* found = nullptr;
  std::vector<char> room(64u << 10);
  while (::fgetpwent_r(file.get(), &entry, room.data(), room.size(), &found) == 0) {
    if (std::strcmp(found->pw_name, name) != 0) continue;
    return Identity{.uid = found->pw_uid, .gid = found->pw_gid};
  }
  return std::nullopt;
}

bool can_run_jails(const Identity& identity) {
  const auto reserved = static_cast<uid_t>(-1);  // means "leave as it is" to the kernel
  return identity.uid != 0 && identity.gid != 0 && identity.uid != reserved;
}

bool has_capabilities() {
  __user_cap_header_struct header{.version = _LINUX_CAPABILITY_VERSION_3, .pid = 0};
  std::array<__user_cap_data_struct, _LINUX_CAPABILITY_U32S_3> sets{};
  if (::syscall(SYS_capget, &header, sets.data()) != 0) return true;
  for (const auto& set : sets) {
    if ((set.effective | set.permitted) != 0) return true;
  }
  return false;
}

// The kernel keeps what it was told only when nothing odd (securebits, a user namespace, a security
// module) interferes; so it is asked.
bool is_for_good(const Identity& identity) {
  uid_t real = 0;
  uid_t effective = 0;
  uid_t saved = 0;
  if (::getresuid(&real, &effective, &saved) != 0) return false;
  if (real != identity.uid || effective != identity.uid || saved != identity.uid) return false;
  gid_t real_group = 0;
  gid_t effective_group = 0;
  gid_t saved_group = 0;
  if (::getresgid(&real_group, &effective_group, &saved_group) != 0) return false;
  if (real_group != identity.gid || effective_group != identity.gid ||
      saved_group != identity.gid || ::getgroups(0, nullptr) != 0) {
    return false;
  }
  const bool regained = ::setuid(0) == 0 || ::setresuid(0, 0, 0) == 0 || ::setgid(0) == 0;
  return !regained && !has_capabilities();
}

jail::Result<void> become(const Identity& identity) {
  if (::setgroups(0, nullptr) != 0) return cannot_drop("setgroups", errno);
  if (::setresgid(identity.gid, identity.gid, identity.gid) != 0) {
    return cannot_drop("setresgid to " + std::to_string(identity.gid), errno);
  }
  if (::setresuid(identity.uid, identity.uid, identity.uid) != 0) {
    return cannot_drop("setresuid to " + std::to_string(identity.uid), errno);
  }
  if (!is_for_good(identity)) return cannot_drop("something of root was left", 0);
  // The change of uid made /proc/self root's, and with it uid_map unwritable.
  if (::prctl(PR_SET_DUMPABLE, 1, 0, 0, 0) != 0) return cannot_drop("PR_SET_DUMPABLE", errno);
  return {};
}

}  // namespace

jail::Result<Identity> find_identity(const std::string& user) {
  std::optional<Identity> identity = find_by_name(user);
  if (!identity) {
    uid_t number = 0;
    const auto [end, error] = std::from_chars(user.data(), user.data() + user.size(), number);
    if (error != std::errc() || end != user.data() + user.size() || user.empty()) {
      return jail::Error{jail::ErrorKind::invalid, "--user: no user " + user, 0, {}};
    }
    identity = Identity{.uid = number, .gid = number};
  }
  if (!can_run_jails(*identity)) {
    return jail::Error{
        jail::ErrorKind::invalid, "--user: expected a user and group other than root", 0, {}};
  }
  return *identity;
}

jail::Result<std::optional<Identity>> next_identity(const std::optional<std::string>& user) {
  const bool is_root = ::geteuid() == 0 || ::getuid() == 0;
  if (user) {
    const auto identity = find_identity(*user);
    if (!identity) return identity.error();
    if (is_root) return std::optional(*identity);
    if (identity->uid == ::geteuid()) return std::optional<Identity>();
    return jail::Error{
        jail::ErrorKind::refused, "--user: only root can become another user", 0, {}};
  }
  if (!is_root) return std::optional<Identity>();
  static const auto own = find_in_passwd("agent-sandbox");
  return std::optional(own && can_run_jails(*own) ? *own : fallback_identity);
}

bool has_root_ended() noexcept { return root_has_ended; }

void note_root_has_ended() noexcept { root_has_ended = true; }

jail::Error as_whom(jail::Error error) {
  const bool is_forbidden = error.sys_errno == EACCES || error.sys_errno == EPERM;
  if (root_has_ended && is_forbidden && error.hint.empty()) {
    error.hint = "it was tried as uid " + std::to_string(::geteuid()) +
                 ", which this process became; give that user access, or name another (--user)";
  }
  return error;
}

jail::Result<void> drop_privileges(const std::optional<std::string>& user) {
  const auto identity = next_identity(user);
  if (!identity) return identity.error();
  if (!*identity) return {};
  auto done = become(**identity);
  root_has_ended = done.has_value();
  return done;
}

}  // namespace server
