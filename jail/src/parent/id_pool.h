// Which ids of the range that this process has entered are in use.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <memory>
#include <mutex>

#include "child/wire.h"
#include "jail/id_range.h"
#include "jail/result.h"
#include "plan/plan.h"

namespace jail {

// The ids of the jail whose user it is; 0 where it is nobody's in the range that was entered.
wire::Ids ids_of_jail(std::uint32_t uid) noexcept;

// Whether this process has entered one.
bool in_range_of_ids() noexcept;

// The ids of one jail, from before it is launched.
class IdLease {
 public:
  IdLease(std::shared_ptr<IdRange::State> pool, std::uint32_t index) noexcept;
  IdLease(IdLease&&) noexcept = default;
  IdLease& operator=(IdLease&&) = delete;
  ~IdLease();  // for the next jail, once no process has them

  wire::Ids ids() const noexcept;

  // The launcher was asked for the jail and may make it later: nobody gets these ids for a minute.
  void may_be_launched_later() { later_ = true; }

 private:
  std::shared_ptr<IdRange::State> pool_;
  std::uint32_t index_;
  bool later_ = false;
};

// Thread-safe.
struct IdRange::State : std::enable_shared_from_this<IdRange::State> {
  static IdRange make(std::shared_ptr<State> state) { return IdRange(std::move(state)); }

  explicit State(const IdsOfJails& the_ids) : ids(the_ids) {}

  using Clock = std::chrono::steady_clock;

  // Errors: exhausted.
  Result<IdLease> lease(Clock::time_point now = Clock::now());
  // For a jail that is launched after `from`; the default: at once.
  void take_back(std::uint32_t index, Clock::time_point from);

  const IdsOfJails ids;

 private:
  struct Awaited {
    std::uint32_t index;
    Clock::time_point from;
  };

  bool is_in_use(std::uint32_t index) const;

  std::mutex mutex_;
  std::uint32_t fresh_ = 0;           // the first that was never given out
  std::deque<std::uint32_t> former_;  // the one that was given back first is the next
  std::deque<Awaited> awaited_;       // until their launcher has surely made the jail, or will not
};

}  // namespace jail
