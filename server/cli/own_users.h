// A user of the host for each jail, where the host has some to give.
#pragma once

#include <memory>
#include <optional>
#include <string>

#include "jail/id_range.h"
#include "jail/result.h"
#include "runtime/config/config.h"
#include "runtime/sandbox/program_root.h"

namespace server {

struct OwnUsers {
  std::shared_ptr<const jail::IdRange> range;  // null: all jails have the user of this process
  std::string why_none;
};

// Why jails get no users of their own, whatever they see; std::nullopt where they do. With `auto`
// they get none where there is no cgroup, since the epoll watches that the kernel allows one user
// (4 % of the memory) would then be each jail's beside its memory limit, and none on a Unix socket,
// whose peers could not be told apart.
std::optional<std::string> why_no_own_users(const runtime::Config& config, bool has_cgroup);

// Why users of their own could not see `root` or the roots of templates; std::nullopt where they
// can. Must be asked before root ends.
std::optional<std::string> why_own_users_see_no_root(const runtime::Config& config,
                                                     const runtime::ProgramRoot& root);

// Enters a user namespace with the range that `config` names, or, where it says `auto`, one that
// nobody else has: of /etc/subuid for an ordinary user. As root this process becomes an ordinary
// user for good, as by drop_privileges(`user`). Errors: those of drop_privileges(), and, where
// `config` names the range, why it cannot be had.
jail::Result<OwnUsers> enter_own_users(const runtime::Config& config,
                                       const std::optional<std::string>& user);

}  // namespace server
