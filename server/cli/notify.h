// Tells systemd what the service is doing.
#pragma once

#include <chrono>
#include <optional>
#include <string>
#include <string_view>

#include "runtime/config/environment.h"

namespace server {

// sd_notify(3)'s protocol, which is one datagram. Says nothing where nobody asked to be told.
class Notifier {
 public:
  explicit Notifier(const runtime::Environment& environment);

  // "READY=1", "STOPPING=1", "WATCHDOG=1"; lines, where there are several.
  void tell(std::string_view state) const;

  // How often the service must show that it lives; nothing where it need not.
  std::optional<std::chrono::microseconds> watchdog() const { return watchdog_; }

 private:
  std::string socket_;
  std::optional<std::chrono::microseconds> watchdog_;
};

}  // namespace server
