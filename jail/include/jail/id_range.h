// Users and groups of the host for jails, of which each has one of its own: what the kernel counts
// for each user, such as the pages of its pipes and its descriptors that are on their way, is then
// no other jail's and not the owner's.
#pragma once

#include <cstdint>
#include <memory>

#include "jail/result.h"

namespace jail {

// A range holds neither this process's user nor root, nobody (65534) or guest_uid, and the same of
// groups. There is to be one id for each jail that lives at a time.
struct IdRangeOptions {
  // Started as root: the first of `count` users and groups that belong to nobody else. As another
  // user, 0: those that /etc/subuid and /etc/subgid give this user.
  std::uint32_t first_uid = 0;
  std::uint32_t first_gid = 0;
  std::uint32_t count = 0;
  // Started as root: the user and group that this process becomes, as the owner of its jails.
  std::uint32_t uid = 0;
  std::uint32_t gid = 0;
};

// A user namespace that this process has entered, which maps the range beside this process's own
// user and group. Give it to a Launcher (LauncherOptions::ids).
class IdRange {
 public:
  // Called once, before this process has a second thread; there is no way back. Inside it has the
  // capabilities to make jails of other users, to reach their files and to end them, over the ids
  // of the range alone, and none of those that it had before. Its own files stay its own; those of
  // everybody else, root's among them, seem to be nobody's, so directory_root() is called before.
  // As root it becomes the user that is named, without groups beside; as another user it runs the
  // programs newuidmap and newgidmap (Debian: uidmap).
  // Errors: invalid (a range that cannot be), refused (by the kernel or those programs), exhausted.
  // This process is as before then, or, where it was root's, may have become that user already.
  static Result<IdRange> enter(const IdRangeOptions& options = {});

  IdRange(IdRange&&) noexcept;
  IdRange& operator=(IdRange&&) noexcept;
  ~IdRange();

  // What was asked for, or found. The jail whose user is first_uid() + n has the group
  // first_gid() + n.
  std::uint32_t first_uid() const noexcept;
  // The same of groups.
  std::uint32_t first_gid() const noexcept;
  // How many of both there are, and so how many jails at a time.
  std::uint32_t count() const noexcept;

  struct State;                                                            // the library's own
  const std::shared_ptr<State>& state() const noexcept { return state_; }  // the library's own

 private:
  explicit IdRange(std::shared_ptr<State> state) noexcept;

  std::shared_ptr<State> state_;
};

// While it lives, this thread makes and opens files as the user to whom a jail's directory belongs,
// where that is one of the range: Jail::working_directory_fd(), or one from Jail::open_file(). The
// library's own functions do so themselves.
class ActAsOwnerOf {
 public:
  explicit ActAsOwnerOf(int directory) noexcept;
  ActAsOwnerOf(const ActAsOwnerOf&) = delete;
  ActAsOwnerOf& operator=(const ActAsOwnerOf&) = delete;
  ~ActAsOwnerOf();

 private:
  std::uint32_t uid_ = 0;  // as it was before; 0: nothing was changed
  std::uint32_t gid_ = 0;
};

}  // namespace jail
