// The working directory of one sandbox where it is a directory of the host: where it is, how much
// may be in it, and how much was in it when it was counted last.
#pragma once

#include <cstdint>
#include <memory>
#include <mutex>
#include <string>
#include <utility>

#include "runtime/living/disk_count.h"
#include "runtime/living/disk_store.h"

namespace runtime {

// Thread-safe.
class SandboxDisk {
 public:
  struct Limits {
    std::uint64_t bytes = 0;
    std::uint64_t files = 0;
  };

  SandboxDisk(std::shared_ptr<SandboxDirectory> directory, Limits limits)
      : directory_(std::move(directory)), limits_(limits) {}

  const std::string& path() const noexcept { return directory_->path(); }
  jail::Fd open() const { return directory_->open(); }
  const Limits& limits() const noexcept { return limits_; }

  // By the latest count, and what the owner has written since.
  DiskUse use() const {
    const std::lock_guard lock(mutex_);
    DiskUse use = use_;
    use.bytes += written_;
    return use;
  }
  bool is_beyond() const {
    const DiskUse now = use();
    return now.bytes > limits_.bytes || now.files > limits_.files || !now.is_countable;
  }
  void note(const DiskUse& use) {
    const std::lock_guard lock(mutex_);
    use_ = use;
    written_ = 0;
  }
  // Counts what its owner is about to write. Returns false where there is no room for it.
  bool take_room(std::uint64_t bytes) {
    const std::lock_guard lock(mutex_);
    if (use_.bytes + written_ + bytes > limits_.bytes) return false;
    written_ += bytes;
    return true;
  }

  // The host's file system was about to be full, and this one is to end for it.
  void note_full_host() {
    const std::lock_guard lock(mutex_);
    is_host_full_ = true;
  }
  bool is_host_full() const {
    const std::lock_guard lock(mutex_);
    return is_host_full_;
  }

  // Has all of it removed.
  void give_up() { directory_->give_up(); }

 private:
  const std::shared_ptr<SandboxDirectory> directory_;
  const Limits limits_;
  mutable std::mutex mutex_;
  DiskUse use_;
  std::uint64_t written_ = 0;
  bool is_host_full_ = false;
};

}  // namespace runtime
