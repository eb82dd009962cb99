#include "runtime/service/egress_audit.h"

#include <algorithm>
#include <utility>

namespace runtime {
namespace {

constexpr std::chrono::seconds together_for{30};
constexpr double told_per_second = 0.5;
constexpr std::size_t max_counted_destinations = 8;  // bound on those that are counted separately
constexpr std::size_t max_refused = 64;
constexpr std::size_t max_destination_bytes = 300;
constexpr std::size_t max_reason_bytes = 300;

EgressNews news_of(const jail::EgressDecision& decision) {
  using Kind = EgressNews::Kind;
  EgressNews news;
  news.kind = decision.allowed ? Kind::allowed : Kind::refused;
  if (decision.event == jail::EgressEvent::ended) news.kind = Kind::ended;
  news.destination = decision.destination.substr(0, max_destination_bytes);
  news.address = decision.address;
  news.reason = decision.reason.substr(0, max_reason_bytes);
  news.sent = decision.sent;
  news.received = decision.received;
  news.lasted = decision.lasted;
  return news;
}

}  // namespace

SandboxEventKind event_kind_of(EgressNews::Kind kind) noexcept {
  if (kind == EgressNews::Kind::allowed) return SandboxEventKind::egress_allowed;
  const bool is_refused = kind == EgressNews::Kind::refused;
  return is_refused ? SandboxEventKind::egress_refused : SandboxEventKind::egress_ended;
}

bool EgressAudit::may_tell(OfKind& of_kind, Time now) {
  const std::chrono::duration<double> passed = now - of_kind.counted_at;
  of_kind.left = std::min(burst, of_kind.left + passed.count() * told_per_second);
  of_kind.counted_at = now;
  if (of_kind.left < 1) return false;
  of_kind.left -= 1;
  return true;
}

void EgressAudit::count(EgressNews news, Time now) {
  auto& together = of_kinds_[static_cast<std::size_t>(news.kind)].together;
  together_since_ = std::min(together_since_, now);
  const bool has_place =
      together.contains(news.destination) || together.size() < max_counted_destinations;
  if (!has_place) {
    news.destination.clear();
    news.reason.clear();
  }
  news.address.clear();
  const auto [place, is_new] = together.try_emplace(news.destination, news);
  if (is_new) return;
  EgressNews& sum = place->second;
  if (sum.reason != news.reason) sum.reason.clear();
  sum.connections += 1;
  sum.sent += news.sent;
  sum.received += news.received;
  sum.lasted += news.lasted;
}

void EgressAudit::count_use(const EgressNews& news) {
  if (news.kind == EgressNews::Kind::refused) use_.refused += 1;
  if (news.kind != EgressNews::Kind::ended) return;
  use_.connections += 1;
  use_.sent += news.sent;
  use_.received += news.received;
}

std::vector<EgressNews> EgressAudit::add(const jail::EgressDecision& decision, Time now) {
  std::vector<EgressNews> told = take(now - together_for);
  EgressNews news = news_of(decision);
  count_use(news);
  if (now - refused_since_ > together_for || refused_.size() >= max_refused) {
    refused_.clear();
    refused_since_ = now;
  }
  const bool is_repeated =
      news.kind == EgressNews::Kind::refused && refused_.contains(news.destination);
  if (is_repeated || !may_tell(of_kinds_[static_cast<std::size_t>(news.kind)], now)) {
    count(std::move(news), now);
    return told;
  }
  if (news.kind == EgressNews::Kind::refused) refused_.insert(news.destination);
  told.push_back(std::move(news));
  return told;
}

std::vector<EgressNews> EgressAudit::take(Time until) {
  std::vector<EgressNews> told;
  if (together_since_ > until) return told;
  for (OfKind& of_kind : of_kinds_) {
    for (auto& [destination, news] : of_kind.together) told.push_back(std::move(news));
    of_kind.together.clear();
  }
  together_since_ = Time::max();
  return told;
}

}  // namespace runtime
