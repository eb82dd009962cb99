// What programs and sandboxes ask of the network, in the server's log: at a rate that no guest
// decides on.
#pragma once

#include <chrono>
#include <map>
#include <string>

#include "jail/egress.h"
#include "runtime/observe/logger.h"
#include "runtime/service/egress_audit.h"

namespace server {

// Not thread-safe. The logger is the caller's.
class EgressLog {
 public:
  explicit EgressLog(runtime::Logger& logger) : logger_(logger) {}

  void tell(const jail::EgressDecision& decision);

 private:
  using Time = runtime::EgressAudit::Time;

  struct OfJail {
    runtime::EgressAudit audit;
    Time last{};
  };

  void forget_old_ones(Time now);
  void write(const std::string& jail, const std::vector<runtime::EgressNews>& news);

  runtime::Logger& logger_;
  std::map<std::string, OfJail, std::less<>> jails_;  // by the label of decisions
  Time forgotten_at_{};
};

}  // namespace server
