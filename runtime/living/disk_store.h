// Directories of the host that are the working directories of sandboxes, below one directory that
// an operator has named.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "jail/fd.h"
#include "jail/result.h"
#include "runtime/living/tree_removal.h"

namespace runtime {

class DiskStore;

// One of these directories, with a mode for its owner alone. Thread-safe.
class SandboxDirectory {
 public:
  SandboxDirectory(const SandboxDirectory&) = delete;
  SandboxDirectory& operator=(const SandboxDirectory&) = delete;
  // Gives it up, unless a later server may take it.
  ~SandboxDirectory() {
    if (!is_kept_) give_up();
  }

  // By which a later server takes it.
  const std::string& name() const noexcept { return name_; }
  const std::string& path() const noexcept { return path_; }  // absolute, without links
  // A descriptor of its own.
  jail::Fd open() const;
  // Returns false once it was given up.
  bool is_there() const {
    const std::lock_guard lock(mutex_);
    return directory_.valid();
  }
  // Hands it and all in it over to be removed; a volume stays. Has an effect once.
  void give_up();

 private:
  friend class DiskStore;
  SandboxDirectory(std::weak_ptr<DiskStore> store, std::string name, std::string path,
                   jail::Fd directory, bool is_kept)
      : store_(std::move(store)),
        name_(std::move(name)),
        path_(std::move(path)),
        is_kept_(is_kept),
        directory_(std::move(directory)) {}

  const std::weak_ptr<DiskStore> store_;
  const std::string name_;
  const std::string path_;
  const bool is_kept_;
  mutable std::mutex mutex_;
  jail::Fd directory_;  // not valid once it is given up
  bool is_volume_ = false;
};

// How a server that ended finds the directories of its sandboxes again.
struct DiskReturn {
  // The same at each start of that server, and no other server's: letters and digits. Empty: the
  // server does not come back, and the next one removes what it left.
  std::string name = {};
  // What this server leaves is removed by another one once it has been gone for longer than this.
  std::chrono::seconds patience{std::chrono::hours(48)};
};

// Each server has a directory of its own there, whose lock it holds for as long as it lives. What a
// server has left that died is found by that. It is removed, unless that server comes back for it.
// Other names there are left alone. Thread-safe, but for remove_some().
class DiskStore : public std::enable_shared_from_this<DiskStore> {
 public:
  // Makes `path` where it is not there, but not the directories above it. Errors: invalid (it is no
  // directory), refused (it belongs to somebody else, or others may write to it, or a server of the
  // same name uses it), kernel.
  static jail::Result<std::shared_ptr<DiskStore>> open(const std::string& path,
                                                       DiskReturn return_of_server = {});

  DiskStore(const DiskStore&) = delete;
  DiskStore& operator=(const DiskStore&) = delete;
  // Removes its own directory where no disk is in it.
  ~DiskStore();

  // Errors: kernel, exhausted.
  jail::Result<std::shared_ptr<SandboxDirectory>> make();

  // Volumes outlive their server. The name is one that DiskStore did not choose. Errors of all
  // three: invalid where it is none, as with a slash. make_volume() gives a directory that make()
  // returned such a name; from then on it is given up without being removed. Errors: kernel,
  // exhausted.
  jail::Result<void> make_volume(SandboxDirectory& directory, const std::string& name);
  // Opens one, and restores its owner's right to use it. Errors: kernel with ENOENT where there is
  // none.
  jail::Result<std::shared_ptr<SandboxDirectory>> open_volume(const std::string& name);
  // Hands one over to be removed. Returns false where there is none.
  jail::Result<bool> remove_volume(const std::string& name);
  // Whether this server finds its directories again at its next start.
  bool is_kept() const noexcept { return !return_.name.empty(); }
  // Takes a directory that this server made before its last end. Whatever its owner has made of its
  // mode, it can be entered afterwards. Errors: invalid (there is none of that name), kernel.
  jail::Result<std::shared_ptr<SandboxDirectory>> take(const std::string& name);
  // Hands all over to be removed that earlier starts have left, except `kept`. To be called before
  // make().
  void give_up_others(const std::set<std::string, std::less<>>& kept);
  // Tells other servers that this one lived until now, and may come back until its patience is
  // over.
  void show_life() const;

  // Removes what was given up, and what earlier servers have left, for as long as it takes to look
  // at some `names` names. Returns `stuck` where the kernel refuses all that is left. To be called
  // by one thread at a time.
  TreeRemoval::State remove_some(std::size_t names);

  // The file system that all of it is on.
  struct Room {
    std::uint64_t available_bytes = 0;  // for this process's user
    std::uint64_t used_bytes = 0;
    std::uint64_t used_files = 0;
    std::uint64_t available_files = 0;  // for this process's user
    std::uint64_t all_files = 0;        // used or not
    bool counts_files = false;
  };
  jail::Result<Room> room() const;

 private:
  friend class SandboxDirectory;
  // A directory of a server that died, whose lock this one has.
  struct Left {
    std::string name;
    jail::Fd directory;
    TreeRemoval removal;
  };

  DiskStore(std::string path, jail::Fd base, DiskReturn return_of_server)
      : path_(std::move(path)), base_(std::move(base)), return_(std::move(return_of_server)) {}
  jail::Result<void> make_own();
  jail::Result<jail::Fd> volumes();
  jail::Result<void> make_new_own();
  jail::Result<void> take_own();
  jail::Result<void> make_trash();
  jail::Result<void> make_deadline();
  bool has_disks() const;
  bool may_be_removed(const std::string& name, const jail::Fd& directory) const;
  std::shared_ptr<SandboxDirectory> known(const std::string& name, jail::Fd directory);
  void find_left();
  void take_back(const std::string& name);

  const std::string path_;
  const jail::Fd base_;
  const DiskReturn return_;
  std::string own_name_;
  jail::Fd own_;       // holds the lock
  jail::Fd trash_;     // a directory in own_
  jail::Fd deadline_;  // a file in own_; not valid where this server does not come back
  std::optional<TreeRemoval> removal_;
  std::vector<Left> left_;
};

}  // namespace runtime
