// Directories of the host that are the working directories of sandboxes, below one directory that
// an operator has named.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <mutex>
#include <optional>
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
  ~SandboxDirectory() { give_up(); }

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
                   jail::Fd directory, bool is_volume = false)
      : store_(std::move(store)),
        name_(std::move(name)),
        path_(std::move(path)),
        directory_(std::move(directory)),
        is_volume_(is_volume) {}

  const std::weak_ptr<DiskStore> store_;
  const std::string name_;
  const std::string path_;
  mutable std::mutex mutex_;
  jail::Fd directory_;  // not valid once it is given up
  bool is_volume_;
};

// Each server has a directory of its own there, whose lock it holds for as long as it lives. What a
// server has left that died is found by that, and removed. Thread-safe, but for remove_some().
class DiskStore : public std::enable_shared_from_this<DiskStore> {
 public:
  // Makes `path` where it is not there, but not the directories above it. Errors: invalid (it is no
  // directory), refused (it belongs to somebody else, or others may write to it), kernel.
  static jail::Result<std::shared_ptr<DiskStore>> open(const std::string& path);

  DiskStore(const DiskStore&) = delete;
  DiskStore& operator=(const DiskStore&) = delete;
  // Removes its own directory where it is empty. Else the next server does.
  ~DiskStore();

  // Errors: kernel, exhausted.
  jail::Result<std::shared_ptr<SandboxDirectory>> make();

  // Volumes outlive their server. The name is one that DiskStore did not choose, without a slash.
  // make_volume() gives a directory that make() returned such a name; from then on it is given up
  // without being removed. Errors: kernel, exhausted.
  jail::Result<void> make_volume(SandboxDirectory& directory, const std::string& name);
  // Opens one, and restores its owner's right to use it. Errors: kernel with ENOENT where there is
  // none.
  jail::Result<std::shared_ptr<SandboxDirectory>> open_volume(const std::string& name);
  // Hands one over to be removed. Returns false where there is none.
  jail::Result<bool> remove_volume(const std::string& name);

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

  DiskStore(std::string path, jail::Fd base) : path_(std::move(path)), base_(std::move(base)) {}
  jail::Result<void> make_own();
  jail::Result<jail::Fd> volumes();
  void find_left();
  void take_back(const std::string& name);

  const std::string path_;
  const jail::Fd base_;
  std::string own_name_;
  jail::Fd own_;    // holds the lock
  jail::Fd trash_;  // a directory in own_
  std::optional<TreeRemoval> removal_;
  std::vector<Left> left_;
};

}  // namespace runtime
