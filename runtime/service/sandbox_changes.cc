// Sandboxes: changes to one that lives.
#include <utility>

#include "runtime/service/sandboxes.h"

namespace runtime {
namespace {

namespace asio = boost::asio;

SandboxLimits with(SandboxLimits limits, const SandboxLimitChange& change) {
  limits.memory_mb = change.memory_mb.value_or(limits.memory_mb);
  limits.processes = change.processes.value_or(limits.processes);
  limits.disk_mb = change.disk_mb.value_or(limits.disk_mb);
  limits.cpu_percent = change.cpu_percent.value_or(limits.cpu_percent);
  return limits;
}

SandboxNetwork network_of(const LivingSandbox& living) {
  SandboxNetwork network;
  network.network.rules = living.network_rules();
  network.secrets = living.secrets();
  return network;
}

}  // namespace

asio::awaitable<std::shared_ptr<void>> Sandboxes::turn_of_changes(Found sandbox) {
  co_await sandbox->for_its_changes_.wait(sandbox->mutex_, Bell::Time::max(), [&sandbox] {
    return !std::exchange(sandbox->has_change_, true);
  });
  auto end = [sandbox](void*) {
    const std::lock_guard lock(sandbox->mutex_);
    sandbox->has_change_ = false;
    sandbox->for_its_changes_.ring();
  };
  co_return std::shared_ptr<void>(nullptr, std::move(end));
}

asio::awaitable<std::optional<Refusal>> Sandboxes::change(Caller caller, Found sandbox,
                                                          SandboxChange change) {
  ChangeOutcome outcome{.is_made = true, .complaint = std::nullopt};
  {
    std::shared_ptr<void> turn;
    if (change.limits || change.network) turn = co_await turn_of_changes(sandbox);
    if (change.limits) {
      outcome = co_await change_limits(sandbox, *change.limits, change.network);
    } else if (change.network) {
      auto refusal = co_await change_network(sandbox, *change.network);
      if (refusal) co_return refusal;
    }
    if (!outcome.is_made) co_return std::move(outcome.complaint);
    {
      const std::lock_guard lock(sandbox->mutex_);
      if (change.metadata) sandbox->metadata_ = *change.metadata;
      if (change.timeout) sandbox->living_->set_lifetime(*change.timeout);
      if (change.idle) sandbox->living_->set_idle(*change.idle);
    }
    note_changed(caller, *sandbox, change);
    // Its end may have been recorded meanwhile.
    const std::lock_guard lock(mutex_);
    if (!sandbox->end()) history_.keep(sandbox->known());
  }
  co_await written(sandbox);
  co_return std::move(outcome.complaint);
}

// A guest can take memory, disk and ports as soon as they are there to be taken. So all that it can
// have refused comes before anything that it could keep from being taken back: first the network is
// opened, which can always be closed again, then the limits change, which change as a whole or not
// at all, and what closes of the network comes last.
asio::awaitable<Sandboxes::ChangeOutcome> Sandboxes::change_limits(
    Found sandbox, SandboxLimitChange change, std::optional<SandboxNetwork> network) {
  const SandboxLimits before = sandbox->limits();
  const SandboxLimits wanted = with(before, change);
  ChangeOutcome outcome{.is_made = false, .complaint = check_cpu(change.cpu_percent)};
  if (!outcome.complaint) outcome.complaint = check_limits(*sandbox, wanted);
  if (outcome.complaint) co_return outcome;
  outcome.complaint = co_await check_in_use(sandbox, before, wanted);
  if (outcome.complaint) co_return outcome;
  const SandboxNetwork held = network_of(*sandbox->living());
  const bool opens = network && !network->network.rules.empty();
  const bool closes = network && (!opens || (network->secrets.empty() && !held.secrets.empty()));
  if (opens) {
    SandboxNetwork opened = *network;
    if (opened.secrets.empty()) opened.secrets = held.secrets;
    outcome.complaint = co_await change_network(sandbox, std::move(opened));
    if (outcome.complaint) co_return outcome;
  }
  outcome = co_await set_limits(sandbox, before, wanted);
  if (!outcome.is_made) {
    if (!opens) co_return outcome;
    const auto not_put_back = co_await change_network(sandbox, held);
    // The proxy does not answer; it closes what it has then.
    if (not_put_back && outcome.complaint) {
      outcome.complaint->detail += "; what it can reach now is what the sandbox is shown with";
    }
    co_return outcome;
  }
  {
    const std::lock_guard lock(sandbox->mutex_);
    sandbox->limits_ = wanted;
  }
  if (closes) {
    auto refusal = co_await change_network(sandbox, std::move(*network));
    if (refusal) outcome.complaint = std::move(refusal);
  }
  co_return outcome;
}

}  // namespace runtime
