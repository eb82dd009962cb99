// The working directory of one sandbox where it is a directory of the host: where it is, how much
// may be in it, and how much was in it when it was counted last.
#pragma once

#include <algorithm>
#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <utility>

#include "runtime/living/disk_count.h"
#include "runtime/living/disk_store.h"
#include "runtime/living/sandbox_files.h"

namespace runtime {

// Thread-safe.
class SandboxDisk {
 public:
  struct Limits {
    std::uint64_t bytes = 0;
    std::uint64_t files = 0;
  };

  // Whether files are in it already. What is there at its first count may stay, though it is more
  // than the limits: the owner can remove some of it, and no byte may be added.
  enum class Content : std::uint8_t { none, of_an_earlier_server };
  SandboxDisk(std::shared_ptr<SandboxDirectory> directory, Limits limits,
              Content content = Content::none)
      : directory_(std::move(directory)),
        content_(content),
        limits_(limits),
        allowed_(content == Content::none ? limits : max_at_first(limits)) {}

  const std::string& name() const noexcept { return directory_->name(); }
  const std::string& path() const noexcept { return directory_->path(); }
  jail::Fd open() const { return directory_->open(); }
  SandboxDirectory& directory() const noexcept { return *directory_; }
  Limits limits() const {
    const std::lock_guard lock(mutex_);
    return limits_;
  }
  // Whether a lower limit is refused where more is in it, or what is in it may stay, and no byte
  // may be added. The first takes a count, and nothing is changed where it does not come in time.
  enum class Excess : std::uint8_t { is_refused, may_stay };
  enum class Change : std::uint8_t { made, more_is_in_it, not_counted };
  // From now on it may take so many bytes.
  Change limit(std::uint64_t bytes, Excess excess) {
    std::unique_lock lock(mutex_);
    if (excess == Excess::is_refused && bytes < limits_.bytes) {
      const bool is_counted = wait_for_count(lock, patience_for_limits);
      if (use_.bytes + written() > bytes) return Change::more_is_in_it;
      if (!is_counted || use_.seen != DiskUse::Seen::all) return Change::not_counted;
    }
    limits_.bytes = bytes;
    const std::uint64_t used = use_.bytes + written();
    // Before the first count all that is there may stay.
    std::uint64_t stays = allowed_.bytes;
    if (content_ == Content::none || at_first_) stays = used > bytes ? used + slack.bytes : 0;
    allowed_.bytes = std::max(bytes, std::min(allowed_.bytes, stays));
    return Change::made;
  }
  // Beyond this it ends: the limits, or what was there already.
  Limits allowed() const {
    const std::lock_guard lock(mutex_);
    return allowed_;
  }

  // Returns what the latest count found, and what the owner has written since.
  DiskUse use() const {
    const std::lock_guard lock(mutex_);
    DiskUse use = use_;
    use.bytes += written();
    return use;
  }
  bool is_beyond() const { return is_beyond(use()); }
  bool is_beyond(const DiskUse& use) const {
    const Limits allowed = this->allowed();
    return use.bytes > allowed.bytes || use.files > allowed.files || !use.is_countable;
  }
  // To be called before and after a count, which sees the files that were complete before it.
  void begin_count() {
    const std::lock_guard lock(mutex_);
    before_count_ = std::exchange(complete_, 0) + before_count_;
    begun_ = wanted_;
  }
  void note(const DiskUse& use) {
    const std::lock_guard lock(mutex_);
    use_ = use;
    if (use.seen == DiskUse::Seen::all) {
      lower_allowed(use);
      if (!at_first_) {
        at_first_ = {.bytes = use.bytes + slack.bytes, .files = use.files + slack.files};
      }
    }
    before_count_ = 0;
    is_in_doubt_ = false;
    counted_ = begun_;
    is_counted_.notify_all();
  }
  // The latest look could not see all of it.
  void note_doubt() {
    const std::lock_guard lock(mutex_);
    is_in_doubt_ = true;
  }
  bool is_in_doubt() const {
    const std::lock_guard lock(mutex_);
    return is_in_doubt_;
  }
  // Whether an earlier server has left it, and it has not grown since.
  bool is_as_it_came_back() const {
    const std::lock_guard lock(mutex_);
    const bool is_known = !is_in_doubt_ && use_.is_countable && use_.in_flight == 0;
    if (content_ == Content::none || !is_known) return false;
    if (!at_first_) return written() == 0;
    return use_.bytes + written() <= at_first_->bytes && use_.files <= at_first_->files;
  }

  // Has `ask` called when somebody waits for a count.
  void count_by(std::function<void()> ask) {
    const std::lock_guard lock(mutex_);
    ask_ = std::move(ask);
  }
  bool is_count_wanted() const {
    const std::lock_guard lock(mutex_);
    return wanted_ != counted_;
  }

  // The room for a file that its owner writes.
  static std::unique_ptr<SandboxFiles::Reservation> reserve(std::shared_ptr<SandboxDisk> disk) {
    return std::make_unique<Reservation>(std::move(disk));
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

  // Returns false once it was given up.
  bool is_there() const { return directory_->is_there(); }
  // Has all of it removed.
  void give_up() { directory_->give_up(); }

 private:
  class Reservation final : public SandboxFiles::Reservation {
   public:
    explicit Reservation(std::shared_ptr<SandboxDisk> disk) : disk_(std::move(disk)) {}
    ~Reservation() override {
      const std::lock_guard lock(disk_->mutex_);
      disk_->incomplete_ -= taken_;
      if (has_name_) disk_->complete_ += taken_;
    }
    bool take(std::uint64_t bytes) override {
      std::unique_lock lock(disk_->mutex_);
      // What was removed since the latest count may have made room.
      if (!disk_->has_room_for(bytes)) (void)disk_->wait_for_count(lock, patience);
      if (!disk_->has_room_for(bytes)) return false;
      disk_->incomplete_ += bytes;
      taken_ += bytes;
      return true;
    }
    void note_name() override { has_name_ = true; }

   private:
    const std::shared_ptr<SandboxDisk> disk_;
    std::uint64_t taken_ = 0;
    bool has_name_ = false;
  };

  using Clock = DiskCount::Clock;
  // What the file system itself needs for the same files may change by so much.
  static constexpr Limits slack{.bytes = 1u << 20, .files = 16};
  // Counting more than this takes too long and too much memory.
  static constexpr std::uint64_t max_bytes_at_first = 1ull << 50;
  static constexpr std::uint64_t max_files_for_each = 4;

  static Limits max_at_first(const Limits& limits) {
    return {.bytes = max_bytes_at_first, .files = limits.files * max_files_for_each};
  }
  void lower_allowed(const DiskUse& use) {
    const auto lower = [](std::uint64_t allowed, std::uint64_t limit, std::uint64_t used) {
      return std::max(limit, std::min(allowed, used));
    };
    allowed_ = {.bytes = lower(allowed_.bytes, limits_.bytes, use.bytes + slack.bytes),
                .files = lower(allowed_.files, limits_.files, use.files + slack.files)};
  }

  static constexpr std::chrono::milliseconds patience{300};
  static constexpr std::chrono::seconds patience_for_limits{2};
  // After a count that did not come in time nobody waits for another one for so long.
  static constexpr std::chrono::seconds impatience{1};

  std::uint64_t written() const { return incomplete_ + complete_ + before_count_; }
  bool has_room_for(std::uint64_t bytes) const {
    return use_.bytes + written() + bytes <= limits_.bytes;
  }
  // Returns false where no new count came in time.
  bool wait_for_count(std::unique_lock<std::mutex>& lock, std::chrono::milliseconds max_wait) {
    // As yet nobody but the owner can have added to it.
    if (!ask_) return true;
    if (Clock::now() < patient_from_) return false;
    const std::uint64_t mine = ++wanted_;
    const std::function<void()> ask = ask_;
    lock.unlock();
    ask();
    lock.lock();
    if (is_counted_.wait_for(lock, max_wait, [&] { return counted_ >= mine; })) return true;
    patient_from_ = Clock::now() + impatience;
    return false;
  }

  const std::shared_ptr<SandboxDirectory> directory_;
  const Content content_;
  mutable std::mutex mutex_;
  Limits limits_;
  Limits allowed_;
  DiskUse use_;
  std::optional<Limits> at_first_;  // what the first count that saw all of it has found, and slack
  // Bytes that its owner has written and that the latest count does not have: of files without a
  // name as yet, of files since the last count began, and of those before.
  std::uint64_t incomplete_ = 0;
  std::uint64_t complete_ = 0;
  std::uint64_t before_count_ = 0;
  bool is_host_full_ = false;
  bool is_in_doubt_ = false;
  // Counts that somebody has waited for, by number: asked for, begun, and done.
  std::uint64_t wanted_ = 0;
  std::uint64_t begun_ = 0;
  std::uint64_t counted_ = 0;
  std::function<void()> ask_;
  std::condition_variable is_counted_;
  Clock::time_point patient_from_{};
};

}  // namespace runtime
