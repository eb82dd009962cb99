#include "service.h"

#include <boost/asio/as_tuple.hpp>
#include <boost/asio/bind_cancellation_slot.hpp>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/detached.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <cstdio>
#include <exception>
#include <utility>

#include "exchange.h"

namespace asio = boost::asio;
using asio::ip::tcp;
using std::chrono::seconds;

namespace {

constexpr auto awaited = asio::as_tuple(asio::use_awaitable);

// A jail may use 256 MiB, so the machine must have that much for each client.
constexpr unsigned max_clients = 32;
constexpr seconds max_to_lease{5};

// An exception in a coroutine is a bug of this program. It is reported, and other clients are still
// served.
void report(std::exception_ptr fault) {
  if (fault == nullptr) return;
  try {
    std::rethrow_exception(std::move(fault));
  } catch (const std::exception& error) {
    std::fprintf(stderr, "asio_service: %s\n", error.what());
  }
}

asio::awaitable<void> pause(std::chrono::milliseconds time) {
  asio::steady_timer timer(co_await asio::this_coro::executor, time);
  co_await timer.async_wait(awaited);
}

}  // namespace

Service::Service(asio::io_context& io, tcp::acceptor acceptor, jail::Pool pool)
    : io_(io), acceptor_(std::move(acceptor)), pool_(std::move(pool)) {}

void Service::start() {
  asio::co_spawn(io_, tend_pool(), asio::bind_cancellation_slot(stop_tending_.slot(), report));
  asio::co_spawn(io_, accept(), report);
}

void Service::drain() {
  acceptor_.close();
  stop_if_drained();
}

// The pool's coroutine is the last one; after it the io_context has nothing left to do.
void Service::stop_if_drained() {
  if (!acceptor_.is_open() && clients_ == 0) stop_tending_.emit(asio::cancellation_type::terminal);
}

asio::awaitable<void> Service::tend_pool() {
  Watched event(io_.get_executor(), pool_.event_fd());
  do {
    pool_.advance();
  } while (co_await event.readable());
}

asio::awaitable<void> Service::accept() {
  while (acceptor_.is_open()) {
    auto [error, client] = co_await acceptor_.async_accept(awaited);
    if (!error) {
      asio::co_spawn(io_, serve(std::move(client)), report);
    } else if (acceptor_.is_open()) {
      // The shortage is usually of descriptors. Waiting clients stay in the kernel's queue
      // meanwhile.
      co_await pause(std::chrono::milliseconds(100));
    }
  }
}

asio::awaitable<void> Service::serve(tcp::socket client) {
  ++clients_;
  std::exception_ptr fault;
  try {
    co_await answer(client);
  } catch (...) {
    fault = std::current_exception();
  }
  --clients_;
  stop_if_drained();
  report(fault);
}

// A pool makes a bounded number of jails at once, so clients that come in a rush wait for a moment.
asio::awaitable<jail::Result<jail::Jail>> Service::lease() {
  const auto deadline = std::chrono::steady_clock::now() + max_to_lease;
  for (;;) {
    auto jail = pool_.lease();
    const bool again = !jail && jail.error().kind == jail::ErrorKind::exhausted &&
                       std::chrono::steady_clock::now() < deadline;
    if (!again) co_return jail;
    co_await pause(std::chrono::milliseconds(10));
  }
}

asio::awaitable<void> Service::answer(tcp::socket& client) {
  if (clients_ > max_clients) co_return co_await refuse(client, 503, "too many clients");
  auto program = co_await receive(client);
  if (!program) co_return;
  auto jail = co_await lease();
  if (!jail) co_return co_await refuse(client, 503, jail.error().message());
  co_await run_for(client, std::move(*jail), std::move(*program));
}
