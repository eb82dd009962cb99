// Sandboxes: pausing and resuming one, also by a request that needs it to run.
#include <chrono>

#include "runtime/service/sandboxes.h"

namespace runtime {

namespace asio = boost::asio;

Refusal Sandboxes::paused_refusal() {
  return {.code = RefusalCode::sandbox_paused,
          .detail = "the sandbox is paused, and auto_resume is false"};
}

Sandboxes::Or<Sandboxes::Found> Sandboxes::find_active(const Principal& principal,
                                                       std::string_view id_or_name) const {
  auto found = find_living(principal, id_or_name);
  const auto* const sandbox = std::get_if<Found>(&found);
  if (sandbox == nullptr) return found;
  const bool may_resume = principal.may(Scope::sandboxes) || principal.has_signed_url();
  if (!may_resume && (*sandbox)->living()->paused_since()) {
    return Refusal{.code = RefusalCode::sandbox_paused,
                   .detail =
                       "the sandbox is paused, and a key without the scope \"sandboxes\" "
                       "does not resume it"};
  }
  if (auto refusal = resume_on_demand(**sandbox)) return std::move(*refusal);
  return found;
}

// Refuses only where auto_resume is false. A sandbox that is ending is let through: the operation
// itself says that it ends.
std::optional<Refusal> Sandboxes::resume_on_demand(const Sandbox& sandbox) {
  const auto active = sandbox.living()->resume_on_demand();
  if (active || active.error().kind != jail::ErrorKind::refused) return std::nullopt;
  return paused_refusal();
}

asio::awaitable<std::optional<Refusal>> Sandboxes::pause(Caller caller, Found sandbox) {
  history_.note(sandbox->owner(), sandbox->id(), SandboxEventKind::pause_asked, &caller);
  const auto paused = co_await sandbox->living()->pause();
  if (paused) {
    if (sandbox->disk_ != nullptr) keep_living(*sandbox);
    co_await written(sandbox);
    co_return std::nullopt;
  }
  co_return co_await no_change(sandbox, paused.error());
}

asio::awaitable<std::optional<Refusal>> Sandboxes::resume(Caller caller, Found sandbox) {
  history_.note(sandbox->owner(), sandbox->id(), SandboxEventKind::resume_asked, &caller);
  const auto resumed = sandbox->living()->resume();
  if (resumed) {
    if (sandbox->disk_ != nullptr) keep_living(*sandbox);
    co_await written(sandbox);
    co_return std::nullopt;
  }
  co_return co_await no_change(sandbox, resumed.error());
}

// The refusal where a sandbox was neither paused nor resumed.
asio::awaitable<Refusal> Sandboxes::no_change(Found sandbox, jail::Error error) {
  if (error.kind == jail::ErrorKind::closed) co_return co_await ending_refusal(sandbox);
  if (error.kind == jail::ErrorKind::timed_out) {
    co_return Refusal{.code = RefusalCode::not_paused,
                      .detail = "its processes could not be stopped in time, and go on"};
  }
  logger_.error("a sandbox could not be paused or resumed",
                {{"sandbox_id", sandbox->id()}, {"error", error.message()}});
  co_return Refusal{.code = RefusalCode::internal_server_error,
                    .detail = "it could not be done; the server's log has the reason"};
}

}  // namespace runtime
