// The limits of a living sandbox, and changes to them.
#include <utility>

#include "runtime/living/living_sandbox.h"

namespace runtime {
namespace {

// Init answers within milliseconds, unless a fork of a large process takes longer.
constexpr std::chrono::seconds patience_for_limits{10};

}  // namespace

boost::asio::awaitable<jail::Result<void>> LivingSandbox::change_limits(jail::LimitChange change) {
  {
    const std::lock_guard lock(mutex_);
    if (!jail_ || ending_) co_return has_ended_error();
    auto changed = jail_->change_limits(change);
    if (!changed) co_return changed;
  }
  const Bell::Time deadline = std::chrono::steady_clock::now() + patience_for_limits;
  co_await for_its_limits_.wait(mutex_, deadline,
                                [this] { return jail_ == nullptr || jail_->limits_hold(); });
  const std::lock_guard lock(mutex_);
  if (!jail_) co_return has_ended_error();
  if (jail_->limits_hold()) co_return jail::Result<void>();
  co_return jail::Error{jail::ErrorKind::timed_out, "limits: init does not answer", 0, {}};
}

}  // namespace runtime
