#include "server/cli/egress_log.h"

#include <cstdint>

namespace server {
namespace {

constexpr std::chrono::seconds between_two_clearances{1};
constexpr std::chrono::minutes known_for{1};  // after its last decision

}  // namespace

void EgressLog::tell(const jail::EgressDecision& decision) {
  if (decision.dropped > 0) {
    logger_.warning("egress decisions are missing here, more came than could be written",
                    {{"missing", static_cast<std::int64_t>(decision.dropped)}});
  }
  const Time now = std::chrono::steady_clock::now();
  forget_old_ones(now);
  OfJail& of_jail = jails_[decision.jail];
  of_jail.last = now;
  write(decision.jail, of_jail.audit.add(decision, now));
}

void EgressLog::forget_old_ones(Time now) {
  if (now - forgotten_at_ < between_two_clearances) return;
  forgotten_at_ = now;
  for (auto each = jails_.begin(); each != jails_.end();) {
    if (now - each->second.last < known_for) {
      ++each;
      continue;
    }
    write(each->first, each->second.audit.take(now));
    each = jails_.erase(each);
  }
}

void EgressLog::write(const std::string& jail, const std::vector<runtime::EgressNews>& news) {
  using Kind = runtime::EgressNews::Kind;
  for (const runtime::EgressNews& each : news) {
    const auto connections = static_cast<std::int64_t>(each.connections);
    if (each.kind == Kind::ended) {
      logger_.info("egress ended", {{"job_id", jail},
                                    {"destination", each.destination},
                                    {"connections", connections},
                                    {"sent_bytes", static_cast<std::int64_t>(each.sent)},
                                    {"received_bytes", static_cast<std::int64_t>(each.received)}});
      continue;
    }
    logger_.info(each.kind == Kind::allowed ? "egress" : "egress refused",
                 {{"job_id", jail},
                  {"destination", each.destination},
                  {"address", each.address},
                  {"connections", connections},
                  {"reason", each.reason}});
  }
}

}  // namespace server
