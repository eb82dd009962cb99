// The gateway of one sandbox: a server on a port of the sandbox's own loopback interface that
// passes requests on to the hosts of its secrets, each with the secret that belongs to it.
#pragma once

#include <boost/asio/any_io_executor.hpp>
#include <boost/asio/posix/stream_descriptor.hpp>
#include <boost/asio/steady_timer.hpp>
#include <cstdint>
#include <list>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "jail/fd.h"
#include "runtime/secrets/network_secret.h"
#include "runtime/secrets/secret_gateways.h"

namespace runtime {

// The port on 127.0.0.1 of the sandbox, and the variable by which programs find it.
inline constexpr std::uint16_t secret_gateway_port = 3129;
inline constexpr std::string_view secret_gateway_variable = "SANDBOX_SECRETS_URL";
// Returns `env` with that variable, unless `env` names it already. Its host is spelled so that the
// variables of the proxy of egress (jail/egress.h) do not lead it there.
std::vector<std::string> with_secret_gateway(std::vector<std::string> env,
                                             const std::vector<std::string>& rules);

// A request that the gateway may pass on.
struct SecretGrant {
  std::string destination{};  // HOST:PORT
  std::string host{};
  std::uint16_t port = 0;
  std::vector<std::pair<std::string, Secret>> headers{};  // the secrets, by name
  std::vector<std::string> rules{};                       // what the sandbox may reach
};

// Thread-safe.
class SecretGateway : public std::enable_shared_from_this<SecretGateway> {
 public:
  // `listener` is a listening socket of the sandbox's network, non-blocking.
  static std::shared_ptr<SecretGateway> open(jail::Fd listener,
                                             const boost::asio::any_io_executor& executor,
                                             std::shared_ptr<SecretGateways> shared,
                                             std::string label);
  ~SecretGateway();
  SecretGateway(const SecretGateway&) = delete;
  SecretGateway& operator=(const SecretGateway&) = delete;

  // Takes the place of earlier rules and secrets. When this has returned, requests under way whose
  // secrets or rules are not the same any more have been cut.
  void set(std::vector<std::string> rules, std::vector<NetworkSecret> secrets);
  std::vector<SecretName> names() const;
  std::vector<NetworkSecret> secrets() const;

  // Cuts all requests, and serves no other. Must be called before the sandbox's network may serve
  // another one.
  void close();

  // One connection, while its thread serves it.
  class Connection {
   public:
    Connection(std::shared_ptr<SecretGateway> gateway, jail::Fd socket);
    ~Connection();
    Connection(const Connection&) = delete;
    Connection& operator=(const Connection&) = delete;

    int fd() const noexcept { return socket_.get(); }
    SecretGateways& shared() const noexcept { return *gateway_->shared_; }
    const std::string& label() const noexcept { return gateway_->label_; }
    // Returns what a request for `place` (HOST or HOST:PORT) may do; from then on a change of that
    // cuts the connection. Returns std::nullopt where no secret belongs to it.
    std::optional<SecretGrant> grant(std::string_view place);
    // Returns a place for the body among those of this sandbox and of all; null where there is
    // none.
    std::shared_ptr<void> take_memory(std::uint64_t bytes);

   private:
    friend class SecretGateway;
    const std::shared_ptr<SecretGateway> gateway_;
    jail::Fd socket_;
    std::optional<SecretGrant> grant_;  // used with the gateway's mutex held
  };

 private:
  static constexpr std::size_t max_connections = 16;
  static constexpr std::uint64_t max_body_memory = 32u << 20;

  SecretGateway(jail::Fd listener, const boost::asio::any_io_executor& executor,
                std::shared_ptr<SecretGateways> shared, std::string label);
  void wait();
  void accept_all();
  void serve(jail::Fd socket);
  std::optional<SecretGrant> grant_of_locked(std::string_view place) const;

  const std::shared_ptr<SecretGateways> shared_;
  const std::string label_;
  boost::asio::posix::stream_descriptor listener_;
  boost::asio::steady_timer pause_;  // while there are no descriptors left

  mutable std::mutex mutex_;
  bool is_closed_ = false;
  std::vector<std::string> rules_;
  std::vector<NetworkSecret> secrets_;
  std::list<Connection*> connections_;
  std::size_t starting_ = 0;  // connections whose threads have not begun yet
  std::uint64_t body_memory_ = 0;
  const Cancel::Listener on_stop_{shared_->stopped(), [this] { close(); }};
};

}  // namespace runtime
