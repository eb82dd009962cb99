// Sandboxes: connections to servers inside, and the bounds on them.
#include <mutex>
#include <utility>

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

using Count = std::shared_ptr<std::atomic<std::uint32_t>>;

// One of the connections of all sandboxes, and one of the sandbox's own.
class Places {
 public:
  explicit Places(Count count) : count_(std::move(count)), number_(count_->fetch_add(1)) {}
  Places(const Places&) = delete;
  Places& operator=(const Places&) = delete;
  ~Places() { count_->fetch_sub(1); }

  bool is_within(std::uint32_t most) const { return number_ < most; }
  void add(std::shared_ptr<void> of_sandbox) { of_sandbox_ = std::move(of_sandbox); }

 private:
  const Count count_;
  const std::uint32_t number_;  // number of earlier connections that are still there
  std::shared_ptr<void> of_sandbox_;
};

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
  const auto places = std::make_shared<Places>(port_connections_);
  if (!places->is_within(options_.max_port_connections)) {
    const std::int64_t most = options_.max_port_connections;
    co_return Refusal{.code = RefusalCode::busy,
                      .detail = "too many connections to ports of sandboxes are open; try again",
                      .limit = most,
                      .used = most};
  }
  auto connection = co_await connect_to_port(sandbox->living(), port, attendance,
                                             patience_for_a_server, std::move(cancel));
  if (!connection) co_return refusal_of_port(connection.error());
  places->add(std::exchange(connection->place, places));
  co_return std::move(*connection);
}

asio::awaitable<void> Sandboxes::renew_token(Caller caller, Found sandbox) {
  {
    const std::lock_guard lock(sandbox->mutex_);
    sandbox->access_token_ = Secret(random_text());
  }
  note(caller, *sandbox, SandboxEventKind::changed,
       [](json::Writer& writer) { writer.key("access_token").string("renewed"); });
  if (sandbox->disk_ != nullptr) keep_living(*sandbox);
  co_await written(sandbox);
}

}  // namespace runtime
