// Which ids of the range that this process has entered are in use.
#pragma once

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

 private:
  std::shared_ptr<IdRange::State> pool_;
  std::uint32_t index_;
};

// Thread-safe.
struct IdRange::State : std::enable_shared_from_this<IdRange::State> {
  static IdRange make(std::shared_ptr<State> state) { return IdRange(std::move(state)); }

  explicit State(const IdsOfJails& the_ids);

  // Errors: exhausted.
  Result<IdLease> lease();
  // A jail that was given up before it was made runs nothing of a guest, so that nothing is shared
  // with the next jail that has its id.
  void take_back(std::uint32_t index);

  const IdsOfJails ids;

 private:
  bool is_in_use(std::uint32_t index) const;

  std::mutex mutex_;
  std::uint32_t first_ = 0;           // index of the first that is given out
  std::uint32_t fresh_ = 0;           // how many were given out once, from there on
  std::deque<std::uint32_t> former_;  // the one that was given back first is the next
};

}  // namespace jail
