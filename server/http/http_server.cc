#include "server/http/http_server.h"

#include <fcntl.h>
#include <malloc.h>
#include <sys/socket.h>

#include <algorithm>
#include <boost/asio/bind_executor.hpp>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/detached.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/post.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <exception>
#include <utility>

#include "server/http/as_values.h"
#include "server/http/peer.h"

namespace server {
namespace {

namespace asio = boost::asio;
using boost::system::error_code;

// Connections beyond the limit that still get an answer; further ones are closed without.
constexpr std::uint32_t max_turned_away = 64;
constexpr std::chrono::milliseconds accept_pause{100};
// The time after the last large body.
constexpr std::chrono::seconds memory_is_kept{1};
constexpr int max_backlog = 4096;  // the kernel's own bound
constexpr std::chrono::milliseconds last_patience{5'000};

// Asio opens sockets without this flag, and a process that this one executes must not inherit a
// connection.
void close_on_exec(int fd) { ::fcntl(fd, F_SETFD, FD_CLOEXEC); }

}  // namespace

HttpServer::HttpServer(std::vector<asio::any_io_executor> executors, HttpOptions options,
                       Handler& handler, runtime::Logger& logger)
    : executor_(executors.front()),
      options_(options),
      budget_(options.max_bodies_bytes,
              [this] { asio::post(executor_, [this] { give_back_memory_later(); }); }),
      handler_(handler),
      logger_(logger),
      acceptor_(executor_),
      changed_(executor_),
      memory_timer_(executor_) {
  for (auto& executor : executors) workers_.push_back({.executor = std::move(executor)});
}

void HttpServer::listen(Listener listener) {
  listener_ = std::move(listener);
  const int fd = listener_.socket.release();
  sockaddr_storage address{};
  socklen_t size = sizeof address;
  ::getsockname(fd, reinterpret_cast<sockaddr*>(&address), &size);
  acceptor_.assign(Socket::protocol_type(address.ss_family, 0), fd);
  asio::co_spawn(executor_, accept_loop(), asio::detached);
}

asio::awaitable<void> HttpServer::accept_loop() {
  while (acceptor_.is_open()) {
    Worker& worker = idlest();
    auto [error, socket] = co_await acceptor_.async_accept(worker.executor, as_values);
    if (error == asio::error::operation_aborted) co_return;
    if (!error) {
      start_session(std::move(socket), worker);
      continue;
    }
    // The shortage is most likely of descriptors: the connection stays in the backlog until some
    // are free.
    logger_.warning("accept failed", {{"error", error.message()}});
    asio::steady_timer pause(executor_, accept_pause);
    co_await pause.async_wait(as_values);
  }
}

HttpServer::Worker& HttpServer::idlest() {
  return *std::min_element(workers_.begin(), workers_.end(), [](const Worker& a, const Worker& b) {
    return a.connections < b.connections;
  });
}

void HttpServer::start_session(Socket socket, Worker& worker) {
  close_on_exec(socket.native_handle());
  error_code ignored;
  socket.set_option(asio::ip::tcp::no_delay(true), ignored);  // Unix sockets lack this option
  const std::string peer = peer_of(socket.native_handle());
  const auto session = Session::create(std::move(socket), options_, budget_, handler_, logger_);
  if (auto why = why_too_many(peer); !why) {
    sessions_.insert(session);
    const auto counted = peers_.try_emplace(peer, 0).first;
    ++counted->second;
    ++worker.connections;
    if (draining_) session->drain();
    if (hurried_) session->abandon();
    asio::co_spawn(
        worker.executor, session->run(),
        asio::bind_executor(executor_, [this, session, counted, &worker](std::exception_ptr) {
          sessions_.erase(session);
          if (--counted->second == 0) peers_.erase(counted);
          end_session(worker);
        }));
  } else if (turned_away_ < max_turned_away) {
    ++turned_away_;
    ++worker.connections;
    asio::co_spawn(worker.executor, session->reject(std::move(*why)),
                   asio::bind_executor(executor_, [this, session, &worker](std::exception_ptr) {
                     --turned_away_;
                     end_session(worker);
                   }));
  }
}

// The allocator keeps the memory of large bodies, and of what was made of them, for further ones.
// More bodies may come soon; later the memory is not needed.
void HttpServer::give_back_memory_later() {
  if (draining_) return;  // the process ends soon, and a timer would outlive the wait for stop()
  memory_timer_.expires_after(memory_is_kept);
  memory_timer_.async_wait([this](const error_code& error) {
    if (!error && budget_.is_whole()) ::malloc_trim(0);
  });
}

// A client that has connected and is not yet accepted would see a reset when the acceptor closes.
void HttpServer::empty_backlog() {
  error_code error;
  acceptor_.non_blocking(true, error);
  for (int left = max_backlog; left > 0 && !error; --left) {
    Worker& worker = idlest();
    Socket socket = acceptor_.accept(worker.executor, error);
    if (!error) start_session(std::move(socket), worker);
  }
}

std::optional<Response> HttpServer::why_too_many(const std::string& peer) const {
  if (sessions_.size() >= options_.max_connections) {
    return problem({.code = RefusalCode::busy,
                    .detail = "too many connections",
                    .limit = options_.max_connections,
                    .used = sessions_.size()});
  }
  const auto counted = peers_.find(peer);
  const std::uint32_t most = options_.max_connections_per_peer;
  if (most > 0 && counted != peers_.end() && counted->second >= most) {
    return problem({.code = RefusalCode::too_many_connections,
                    .detail = "too many connections from one address",
                    .limit = most,
                    .used = counted->second});
  }
  return std::nullopt;
}

void HttpServer::end_session(Worker& worker) {
  --worker.connections;
  changed_.cancel();
}

std::vector<std::weak_ptr<Session>> HttpServer::open_sessions() const {
  return {sessions_.begin(), sessions_.end()};
}

bool HttpServer::all_ended(const std::vector<std::weak_ptr<Session>>& sessions) const {
  return std::none_of(sessions.begin(), sessions.end(),
                      [this](const auto& session) { return sessions_.contains(session.lock()); });
}

asio::awaitable<bool> HttpServer::wait_for(std::vector<std::weak_ptr<Session>> sessions,
                                           std::chrono::milliseconds patience) {
  const auto end = std::chrono::steady_clock::now() + patience;
  while (!all_ended(sessions)) {
    if (std::chrono::steady_clock::now() >= end) co_return false;
    changed_.expires_at(end);
    co_await changed_.async_wait(as_values);
  }
  co_return true;
}

asio::awaitable<bool> HttpServer::drain_all(std::chrono::milliseconds patience) {
  draining_ = true;
  memory_timer_.cancel();
  for (const auto& session : sessions_) session->drain();
  // Only sessions from before the stop can have accepted work.
  const auto before = open_sessions();
  if (!co_await wait_for(before, patience)) {
    hurried_ = true;
    for (const auto& session : sessions_) session->abandon();
  }
  if (!before.empty()) {
    // Clients whose connections were just closed may reconnect: they are told, too.
    asio::steady_timer grace(executor_, options_.drain_grace);
    co_await grace.async_wait(as_values);
  }
  listener_.file.remove();
  empty_backlog();
  error_code ignored;
  acceptor_.close(ignored);
  const auto end = std::chrono::steady_clock::now() + last_patience;
  while (!sessions_.empty() || turned_away_ > 0) {
    if (std::chrono::steady_clock::now() >= end) co_return false;
    changed_.expires_at(end);
    co_await changed_.async_wait(as_values);
  }
  co_return true;
}

asio::awaitable<bool> HttpServer::stop(std::chrono::milliseconds patience) {
  co_return co_await asio::co_spawn(executor_, drain_all(patience), asio::use_awaitable);
}

}  // namespace server
