#include "runtime/secrets/secret_gateway.h"

#include <errno.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/socket.h>

#include <algorithm>
#include <boost/asio/post.hpp>
#include <boost/asio/strand.hpp>
#include <chrono>

#include "runtime/secrets/exchange.h"
#include "runtime/secrets/guest_socket.h"

namespace runtime {
namespace {

namespace asio = boost::asio;
using jail::Fd;

constexpr std::chrono::milliseconds pause_without_descriptors{100};
// The kernel would keep megabytes for each connection.
constexpr int guest_buffer_bytes = 128 << 10;

bool is_out_of_descriptors(int error) {
  return error == EMFILE || error == ENFILE || error == ENOBUFS || error == ENOMEM;
}

void set_options(const Fd& socket) {
  for (const int option : {SO_RCVBUF, SO_SNDBUF}) {
    ::setsockopt(socket.get(), SOL_SOCKET, option, &guest_buffer_bytes, sizeof guest_buffer_bytes);
  }
  const int on = 1;
  ::setsockopt(socket.get(), IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
}

bool has_same_headers(const SecretGrant& one, const SecretGrant& other) {
  return std::equal(one.headers.begin(), one.headers.end(), other.headers.begin(),
                    other.headers.end(), [](const auto& before, const auto& after) {
                      return before.first == after.first && before.second.is(after.second.reveal());
                    });
}

bool has_all_rules(const std::vector<std::string>& all, const std::vector<std::string>& wanted) {
  return std::all_of(wanted.begin(), wanted.end(), [&](const std::string& rule) {
    return std::find(all.begin(), all.end(), rule) != all.end();
  });
}

}  // namespace

std::vector<std::string> with_secret_gateway(std::vector<std::string> env,
                                             const std::vector<std::string>& rules) {
  const std::string start = std::string(secret_gateway_variable) + "=";
  const bool is_given = std::any_of(env.begin(), env.end(), [&start](const std::string& entry) {
    return entry.starts_with(start);
  });
  if (is_given) return env;
  const std::vector<std::string> variables = jail::with_egress_variables({}, rules);
  const bool is_own = std::any_of(variables.begin(), variables.end(), [](const std::string& entry) {
    return entry.starts_with("no_proxy=") && entry.find("127.0.0.1") != entry.npos;
  });
  env.push_back(start + "http://" + (is_own ? "127.0.0.1" : "localhost") + ":" +
                std::to_string(secret_gateway_port));
  return env;
}

std::shared_ptr<SecretGateway> SecretGateway::open(Fd listener,
                                                   const asio::any_io_executor& executor,
                                                   std::shared_ptr<SecretGateways> shared,
                                                   std::string label) {
  const std::shared_ptr<SecretGateway> gateway(
      new SecretGateway(std::move(listener), executor, std::move(shared), std::move(label)));
  asio::post(gateway->listener_.get_executor(), [weak = gateway->weak_from_this()] {
    if (const auto self = weak.lock()) self->wait();
  });
  return gateway;
}

SecretGateway::SecretGateway(Fd listener, const asio::any_io_executor& executor,
                             std::shared_ptr<SecretGateways> shared, std::string label)
    : shared_(std::move(shared)),
      label_(std::move(label)),
      listener_(asio::make_strand(executor)),
      pause_(listener_.get_executor()) {
  listener_.assign(listener.release());
}

SecretGateway::~SecretGateway() { close(); }

void SecretGateway::set(std::vector<std::string> rules, std::vector<NetworkSecret> secrets) {
  const std::lock_guard lock(mutex_);
  if (is_closed_) return;
  rules_ = std::move(rules);
  secrets_ = std::move(secrets);
  for (const Connection* const connection : connections_) {
    const auto& before = connection->grant_;
    if (!before) continue;
    const auto now = grant_of_locked(before->destination);
    const bool is_same =
        now && has_same_headers(*before, *now) && has_all_rules(rules_, before->rules);
    if (!is_same) GuestSocket::reset(connection->fd());
  }
}

std::vector<NetworkSecret> SecretGateway::secrets() const {
  const std::lock_guard lock(mutex_);
  return secrets_;
}

std::vector<SecretName> SecretGateway::names() const {
  const std::lock_guard lock(mutex_);
  std::vector<SecretName> names;
  for (const NetworkSecret& secret : secrets_) names.push_back(secret.name);
  return names;
}

// A socket that was shut down accepts nothing, also while a copy of its descriptor is in use.
void SecretGateway::close() {
  const std::lock_guard lock(mutex_);
  if (std::exchange(is_closed_, true)) return;
  ::shutdown(listener_.native_handle(), SHUT_RDWR);
  rules_.clear();
  secrets_.clear();
  for (const Connection* const connection : connections_) {
    GuestSocket::reset(connection->fd());
  }
}

void SecretGateway::wait() {
  listener_.async_wait(asio::posix::stream_descriptor::wait_read,
                       [weak = weak_from_this()](const boost::system::error_code& error) {
                         const auto self = weak.lock();
                         if (!error && self != nullptr) self->accept_all();
                       });
}

void SecretGateway::accept_all() {
  for (;;) {
    Fd socket(::accept4(listener_.native_handle(), nullptr, nullptr, SOCK_CLOEXEC | SOCK_NONBLOCK));
    if (socket.valid()) {
      serve(std::move(socket));
      continue;
    }
    if (errno == EINTR || errno == ECONNABORTED) continue;
    if (errno == EAGAIN) {
      wait();
    } else if (is_out_of_descriptors(errno)) {
      pause_.expires_after(pause_without_descriptors);
      pause_.async_wait([weak = weak_from_this()](const boost::system::error_code& error) {
        const auto self = weak.lock();
        if (!error && self != nullptr) self->wait();
      });
    }
    return;  // otherwise it is closed
  }
}

// A connection beyond the bound is closed, which a program can only take for a server that is busy.
void SecretGateway::serve(Fd socket) {
  {
    const std::lock_guard lock(mutex_);
    if (is_closed_ || connections_.size() + starting_ >= max_connections) return;
    ++starting_;
  }
  set_options(socket);
  // A function that can be copied cannot own a descriptor by itself.
  auto held = std::make_shared<Fd>(std::move(socket));
  const bool is_started = shared_->start([self = shared_from_this(), held] {
    Connection connection(self, std::move(*held));
    serve_guest(connection);
  });
  if (is_started) return;
  const std::lock_guard lock(mutex_);
  --starting_;
}

SecretGateway::Connection::Connection(std::shared_ptr<SecretGateway> gateway, Fd socket)
    : gateway_(std::move(gateway)), socket_(std::move(socket)) {
  const std::lock_guard lock(gateway_->mutex_);
  --gateway_->starting_;
  gateway_->connections_.push_back(this);
  if (gateway_->is_closed_) GuestSocket::reset(fd());
}

SecretGateway::Connection::~Connection() {
  const std::lock_guard lock(gateway_->mutex_);
  gateway_->connections_.remove(this);
  socket_.reset();
}

std::optional<SecretGrant> SecretGateway::Connection::grant(std::string_view place) {
  const std::lock_guard lock(gateway_->mutex_);
  grant_ = gateway_->is_closed_ ? std::nullopt : gateway_->grant_of_locked(place);
  return grant_;
}

std::shared_ptr<void> SecretGateway::Connection::take_memory(std::uint64_t bytes) {
  auto of_all = shared().take_memory(bytes);
  if (of_all == nullptr) return nullptr;
  const std::lock_guard lock(gateway_->mutex_);
  if (gateway_->body_memory_ + bytes > max_body_memory) return nullptr;
  gateway_->body_memory_ += bytes;
  return {of_all.get(), [gateway = gateway_, of_all, bytes](void*) {
            const std::lock_guard end(gateway->mutex_);
            gateway->body_memory_ -= bytes;
          }};
}

// The place is only ever compared, never taken apart, so it has no parts that two readers could
// see differently.
std::optional<SecretGrant> SecretGateway::grant_of_locked(std::string_view place) const {
  constexpr std::uint16_t usual_port = 443;
  SecretGrant grant;
  for (const NetworkSecret& secret : secrets_) {
    const SecretName& name = secret.name;
    const bool is_meant =
        place == name.destination() || (name.port == usual_port && place == name.host);
    if (!is_meant) continue;
    grant.destination = name.destination();
    grant.host = name.host;
    grant.port = name.port;
    grant.headers.emplace_back(name.header, secret.value);
  }
  if (grant.headers.empty() || !is_named_by(rules_, grant.destination)) return std::nullopt;
  grant.rules = rules_;
  return grant;
}

}  // namespace runtime
