#include "server/cli/own_users.h"

#include <sys/stat.h>

#include <utility>

#include "runtime/sandbox/template.h"
#include "server/cli/drop_privileges.h"

namespace server {
namespace {

// Nobody's by the list of systemd (UIDS-GIDS), and beyond what useradd(8) gives out by /etc/subuid.
// Ids are given out in turn, so that one is not soon another jail's.
constexpr std::uint32_t first_of_root = 1'879'048'192;
constexpr std::uint32_t count_of_root = 65'536;

// The first directory on the way to `path`, itself included, that others may not enter.
std::optional<std::string> closed_directory(const std::string& path) {
  for (std::size_t end = path.find('/', 1);; end = path.find('/', end + 1)) {
    const std::string directory = path.substr(0, end);
    struct stat status {};
    const bool is_open = ::stat(directory.c_str(), &status) == 0 && (status.st_mode & S_IXOTH) != 0;
    if (!is_open) return directory;
    if (end == path.npos) return std::nullopt;
  }
}

jail::IdRangeOptions options_of(const runtime::JailUsers& users, bool is_root) {
  jail::IdRangeOptions options;
  if (users.mode == runtime::JailUsers::Mode::range) {
    options.first_uid = options.first_gid = users.first;
    options.count = users.count;
  } else if (is_root) {
    options.first_uid = options.first_gid = first_of_root;
    options.count = count_of_root;
  }
  return options;
}

}  // namespace

std::optional<std::string> why_no_own_users(const runtime::Config& config, bool has_cgroup) {
  using Mode = runtime::JailUsers::Mode;
  if (config.jail_users.mode == Mode::off) return "the configuration says so";
  if (config.jail_users.mode == Mode::automatic && !has_cgroup) {
    return "there is no cgroup to count the memory that the kernel bounds for each user";
  }
  if (config.jail_users.mode == Mode::automatic && runtime::unix_path(config.api_host)) {
    return "the users who come by a Unix socket could not be told apart";
  }
  if (config.jail_users.mode == Mode::automatic && !config.sandbox_disk_path.empty()) {
    return "directories of SANDBOX_DISK_PATH can belong to no such user";
  }
  return std::nullopt;
}

std::optional<std::string> why_own_users_see_no_root(const runtime::Config& config,
                                                     const runtime::ProgramRoot& root) {
  if (root.kind == runtime::ProgramRoot::Kind::built) {
    if (const auto closed = closed_directory(root.directory)) {
      return "the root is " + root.directory + ", and others may not enter " + *closed;
    }
  }
  const auto templates = runtime::load_templates(config.sandbox_templates_dir);
  if (!templates) return templates.error().message();
  for (const runtime::Template& each : *templates) {
    if (!each.rootfs.empty() && each.rootfs != "host") {
      return "the template " + each.name + " has a root of its own";
    }
  }
  return std::nullopt;
}

jail::Result<OwnUsers> enter_own_users(const runtime::Config& config,
                                       const std::optional<std::string>& user) {
  const auto identity = next_identity(user);
  if (!identity) return identity.error();
  jail::IdRangeOptions options = options_of(config.jail_users, identity->has_value());
  if (*identity) {
    options.uid = (*identity)->uid;
    options.gid = (*identity)->gid;
  }
  auto range = jail::IdRange::enter(options);
  if (range) {
    if (*identity) note_root_has_ended();
    return OwnUsers{.range = std::make_shared<const jail::IdRange>(std::move(*range)),
                    .why_none = {}};
  }
  if (config.jail_users.mode == runtime::JailUsers::Mode::range) return range.error();
  if (const auto dropped = drop_privileges(user); !dropped) return dropped.error();
  return OwnUsers{.range = nullptr, .why_none = range.error().message()};
}

}  // namespace server
