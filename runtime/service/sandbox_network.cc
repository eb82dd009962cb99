// Sandboxes: the destinations that one may reach, and changes to them.
#include <utility>

#include "runtime/sandbox/jail_handle.h"
#include "runtime/service/sandboxes.h"

namespace runtime {

namespace asio = boost::asio;

asio::awaitable<std::optional<Refusal>> Sandboxes::change_network(Found sandbox,
                                                                  SandboxNetwork network) {
  const auto changed = co_await sandbox->living()->set_network(std::move(network.network.rules),
                                                               std::move(network.secrets));
  if (changed) co_return std::nullopt;
  const jail::Error& error = changed.error();
  if (error.kind == jail::ErrorKind::closed) co_return co_await ending_refusal(sandbox);
  if (error.kind == jail::ErrorKind::invalid) {
    co_return Refusal{.code = RefusalCode::bad_request, .detail = error.doing};
  }
  if (error.kind == jail::ErrorKind::refused) {
    co_return Refusal{.code = RefusalCode::port_in_use, .detail = error.doing};
  }
  logger_.error("what a sandbox may reach could not be changed",
                {{"sandbox_id", sandbox->id()}, {"error", error.message()}});
  if (error.kind == jail::ErrorKind::timed_out) {
    co_return Refusal{
        .code = RefusalCode::too_slow,
        .detail = error.doing + "; what holds now is what the sandbox is shown with, try again"};
  }
  if (is_shortage(error) || error.kind == jail::ErrorKind::exhausted) {
    co_return Refusal{.code = RefusalCode::host_exhausted,
                      .detail = "network: the host has no room for it; try again"};
  }
  co_return Refusal{.code = RefusalCode::internal_server_error,
                    .detail = "network: it could not be changed; the server's log has the reason"};
}

}  // namespace runtime
