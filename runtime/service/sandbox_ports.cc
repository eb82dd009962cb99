// Sandboxes: connections to servers inside, and the bounds on them.
#include <memory>
#include <mutex>
#include <utility>
#include <variant>

#include "jail/egress.h"
#include "runtime/observe/uuid.h"
#include "runtime/secrets/secret_gateway.h"
#include "runtime/service/sandboxes.h"

namespace runtime {
namespace {

namespace asio = boost::asio;

constexpr std::chrono::milliseconds patience_for_a_server{5'000};

Refusal refusal_of_port(const jail::Error& error) {
  switch (error.kind) {
    case jail::ErrorKind::refused:
      return {.code = RefusalCode::port_closed, .detail = error.doing};
    case jail::ErrorKind::timed_out:
      return {.code = RefusalCode::port_timeout, .detail = error.doing};
    case jail::ErrorKind::closed:
      return {.code = RefusalCode::sandbox_ended, .detail = "the sandbox has ended"};
    case jail::ErrorKind::exhausted:
      if (error.sys_errno == 0) {
        constexpr std::int64_t most = LivingSandbox::max_port_connections;
        return {.code = RefusalCode::busy, .detail = error.doing, .limit = most, .used = most};
      }
      return {.code = RefusalCode::host_exhausted,
              .detail = "the host has no room for a connection; try again"};
    default:
      return {.code = RefusalCode::port_closed, .detail = error.doing};
  }
}

}  // namespace

asio::awaitable<Sandboxes::Or<PortConnection>> Sandboxes::connect(
    Found sandbox, std::uint16_t port, LivingSandbox::Attendance attendance, Cancel cancel) {
  // Whoever has the sandbox's token must not use its secrets, and a gateway may come at any moment.
  if (port == secret_gateway_port) {
    co_return Refusal{.code = RefusalCode::port_reserved,
                      .detail = "port: 3129 is for the gateway of secrets, for programs inside"};
  }
  if (port == jail::egress_port && !sandbox->network_rules().empty()) {
    co_return Refusal{.code = RefusalCode::port_reserved,
                      .detail = "port: the way out of the sandbox is no server inside"};
  }
  if (auto refusal = resume_on_demand(*sandbox)) co_return std::move(*refusal);
  auto place = port_places_->take(sandbox->owner());
  if (auto* const refusal = std::get_if<Refusal>(&place)) co_return std::move(*refusal);
  auto connection = co_await connect_to_port(sandbox->living(), port, attendance,
                                             patience_for_a_server, std::move(cancel));
  if (!connection) co_return refusal_of_port(connection.error());
  using Both = std::pair<std::shared_ptr<void>, std::shared_ptr<void>>;
  auto both = std::make_shared<Both>(std::get<0>(std::move(place)), std::move(connection->place));
  connection->place = std::move(both);
  co_return std::move(*connection);
}

asio::awaitable<void> Sandboxes::renew_token(Caller caller, Found sandbox) {
  Cancel access_by_the_old_one;
  {
    const std::lock_guard lock(sandbox->mutex_);
    sandbox->access_token_ = Secret(random_text());
    access_by_the_old_one = std::exchange(sandbox->access_, Cancel());
  }
  access_by_the_old_one.request();
  note(caller, *sandbox, SandboxEventKind::changed,
       [](json::Writer& writer) { writer.key("access_token").string("renewed"); });
  if (sandbox->disk_ != nullptr) keep_living(*sandbox);
  co_await written(sandbox);
}

}  // namespace runtime
