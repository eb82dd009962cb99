#include "runtime/sandbox/network_news.h"

#include <algorithm>
#include <utility>

namespace runtime {
namespace {

// A guest chooses the destination, and with it the length of the reason.
constexpr std::size_t max_told_bytes = 300;

NetworkDecision decision_of(const jail::EgressDecision& decision) {
  using Kind = NetworkDecision::Kind;
  NetworkDecision told;
  // An allowed connection without an address failed.
  if (decision.allowed) told.kind = decision.address.empty() ? Kind::failed : Kind::allowed;
  told.destination = decision.destination.substr(0, max_told_bytes);
  told.reason = decision.reason.substr(0, max_told_bytes);
  return told;
}

void add(NetworkUse& use, NetworkDecision decision) {
  use.total += 1;
  const auto same = std::ranges::find_if(use.decisions, [&](const NetworkDecision& earlier) {
    return earlier.kind == decision.kind && earlier.destination == decision.destination &&
           earlier.reason == decision.reason;
  });
  if (same != use.decisions.end()) {
    same->connections += 1;
    return;
  }
  const auto of_kind = std::ranges::count(use.decisions, decision.kind, &NetworkDecision::kind);
  if (static_cast<std::size_t>(of_kind) >= NetworkNews::max_told) return;
  use.decisions.push_back(std::move(decision));
}

}  // namespace

NetworkNews::OfProgram::OfProgram(std::shared_ptr<NetworkNews> news, std::string label)
    : news_(std::move(news)), label_(std::move(label)) {
  const std::lock_guard lock(news_->mutex_);
  news_->uses_.try_emplace(label_);
}

NetworkNews::OfProgram::~OfProgram() {
  const std::lock_guard lock(news_->mutex_);
  news_->uses_.erase(label_);
}

NetworkUse NetworkNews::OfProgram::take() {
  const std::lock_guard lock(news_->mutex_);
  return std::exchange(news_->uses_[label_], {});
}

std::unique_ptr<NetworkNews::OfProgram> NetworkNews::listen(const jail::Network& network) {
  const bool is_told = network.kind == jail::Network::Kind::egress && !network.label.empty();
  return is_told ? std::make_unique<OfProgram>(shared_from_this(), network.label) : nullptr;
}

OnEgress NetworkNews::before(OnEgress other) {
  return [self = shared_from_this(), other = std::move(other)](const jail::EgressDecision& one) {
    self->note(one);
    if (other) other(one);
  };
}

void NetworkNews::note(const jail::EgressDecision& decision) {
  if (decision.event != jail::EgressEvent::decided) return;
  const std::lock_guard lock(mutex_);
  const auto use = uses_.find(decision.jail);
  if (use != uses_.end()) add(use->second, decision_of(decision));
}

}  // namespace runtime
