#include "server/cli/state_directory.h"

#include <fcntl.h>
#include <pwd.h>
#include <sys/stat.h>
#include <unistd.h>

#include <array>

#include "jail/fd.h"
#include "server/cli/drop_privileges.h"

namespace server {
namespace {

constexpr const char* parent = "/var/lib/agent-sandbox";
constexpr const char* name = "server";

// Whether the environment leads to the home that the list of users gives root.
bool leads_to_home_of_root(const runtime::Environment& environment) {
  for (const char* const variable : {"STATE_DIRECTORY", "XDG_STATE_HOME"}) {
    const auto entry = environment.find(variable);
    if (entry != environment.end() && !entry->second.empty()) return false;
  }
  passwd entry{};
  passwd* found = nullptr;
  std::array<char, 4096> room;
  if (::getpwuid_r(0, &entry, room.data(), room.size(), &found) != 0 || found == nullptr) {
    return false;
  }
  const auto home = environment.find("HOME");
  return home != environment.end() && home->second == found->pw_dir;
}

// What root alone may change: nobody exchanges what is below it for something else.
bool is_roots_alone(const jail::Fd& directory) {
  struct stat status {};
  return ::fstat(directory.get(), &status) == 0 && status.st_uid == 0 &&
         (status.st_mode & (S_IWGRP | S_IWOTH)) == 0;
}

// What the directory is worth to `owner`.
enum class Place { none, owned, of_another };

// No link is followed below /var/lib, and only a directory that was made here is given away.
Place make_directory(const Identity& owner) {
  constexpr int flags = O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC;
  ::mkdir(parent, 0755);
  const jail::Fd above(::open(parent, flags));
  if (!above.valid() || !is_roots_alone(above)) return Place::none;
  const bool is_new = ::mkdirat(above.get(), name, 0700) == 0;
  const jail::Fd directory(::openat(above.get(), name, flags));
  if (!directory.valid()) return Place::none;
  if (is_new) {
    return ::fchown(directory.get(), owner.uid, owner.gid) == 0 ? Place::owned : Place::none;
  }
  struct stat status {};
  const bool is_owned = ::fstat(directory.get(), &status) == 0 && status.st_uid == owner.uid;
  return is_owned ? Place::owned : Place::of_another;
}

// The home that the list of users gives `owner`; empty where it is not there or somebody else's.
std::string home_of(const Identity& owner) {
  passwd entry{};
  passwd* found = nullptr;
  std::array<char, 4096> room;
  if (::getpwuid_r(owner.uid, &entry, room.data(), room.size(), &found) != 0 || found == nullptr) {
    return {};
  }
  struct stat status {};
  const bool is_own =
      ::stat(found->pw_dir, &status) == 0 && S_ISDIR(status.st_mode) && status.st_uid == owner.uid;
  return is_own ? found->pw_dir : std::string();
}

}  // namespace

void take_state_directory(runtime::Environment& environment,
                          const std::optional<std::string>& user) {
  const auto identity = next_identity(user);
  if (!identity || !*identity || !leads_to_home_of_root(environment)) return;
  const Place place = make_directory(**identity);
  if (place == Place::none) return;
  if (place == Place::of_another && user) {
    if (const std::string home = home_of(**identity); !home.empty()) {
      environment["HOME"] = home;
      return;
    }
  }
  environment["STATE_DIRECTORY"] = std::string(parent) + "/" + name;
}

}  // namespace server
