// The listeners that are told what becomes of connections through the proxy of egress, beside the
// log.
#pragma once

#include <functional>
#include <memory>
#include <mutex>
#include <utility>

#include "jail/egress.h"
#include "runtime/sandbox/egress_feed.h"

namespace server {

// Thread-safe.
class EgressListener {
 public:
  void tell(const jail::EgressDecision& decision) {
    const std::lock_guard lock(mutex_);
    if (listener_) listener_(decision);
  }

  // `listener` is told until what is returned goes, which waits for a call that is under way.
  [[nodiscard]] std::shared_ptr<void> listen(runtime::OnEgress listener) {
    const std::lock_guard lock(mutex_);
    listener_ = std::move(listener);
    return {nullptr, [this](void*) {
              const std::lock_guard of_end(mutex_);
              listener_ = {};
            }};
  }

 private:
  std::mutex mutex_;
  runtime::OnEgress listener_;
};

}  // namespace server
