#include "exchange.h"

#include <array>
#include <boost/asio/as_tuple.hpp>
#include <boost/asio/experimental/awaitable_operators.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/asio/this_coro.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <boost/asio/write.hpp>
#include <boost/beast/core/flat_buffer.hpp>
#include <boost/beast/http.hpp>
#include <cstdio>
#include <utility>

namespace asio = boost::asio;
namespace http = boost::beast::http;
using asio::ip::tcp;
using namespace asio::experimental::awaitable_operators;
using std::chrono::seconds;

namespace {

// Errors as values: a client that leaves is not exceptional.
constexpr auto awaited = asio::as_tuple(asio::use_awaitable);

constexpr std::uint64_t max_program_bytes = 1u << 20;
constexpr seconds max_to_send{10};
constexpr seconds max_wall{5};
constexpr seconds max_to_ready{10};
// Init enforces the deadline of a run. This bound is for an init that does not, and for a client
// that takes its answer too slowly.
constexpr seconds grace{5};

using Parser = http::request_parser<http::string_body>;

asio::awaitable<bool> read_request(tcp::socket& client, Parser& parser) {
  boost::beast::flat_buffer buffer;
  const auto [error, size] = co_await http::async_read(client, buffer, parser, awaited);
  co_return !error;
}

// Waits until the jail may be given its program.
asio::awaitable<std::optional<jail::Error>> become_ready(jail::Jail& jail) {
  Watched control(co_await asio::this_coro::executor, jail.control_fd());
  for (;;) {
    const auto phase = jail.advance();
    if (!phase) co_return phase.error();
    if (*phase == jail::Phase::ready) co_return std::nullopt;
    if (*phase == jail::Phase::ended || !co_await control.readable()) {
      co_return jail::Error{jail::ErrorKind::closed, "wait for the jail to be ready", 0, {}};
    }
  }
}

asio::awaitable<void> become_ended(jail::Jail& jail) {
  Watched control(co_await asio::this_coro::executor, jail.control_fd());
  for (;;) {
    const auto phase = jail.advance();
    if (!phase) {
      std::fprintf(stderr, "asio_service: %s\n", phase.error().message().c_str());
      jail.kill(jail::Ended::killed);
      co_return;
    }
    if (*phase == jail::Phase::ended || !co_await control.readable()) co_return;
  }
}

// Reads the next piece only when the client has taken the previous one. Until then the pipe fills,
// and the program waits in write(2), like a program in a stopped terminal: at most 64 KiB of an
// output of any size are in memory.
asio::awaitable<void> stream(asio::posix::stream_descriptor& output, tcp::socket& client) {
  std::array<char, 16384> room;
  for (;;) {
    const auto [ended, size] = co_await output.async_read_some(asio::buffer(room), awaited);
    if (ended) co_return;
    const auto chunk = http::make_chunk(asio::const_buffer(room.data(), size));
    const auto [gone, sent] = co_await asio::async_write(client, chunk, awaited);
    if (gone) co_return;
  }
}

// A client that has sent its request sends nothing before the answer, so its socket becomes
// readable when it leaves.
asio::awaitable<void> leave(tcp::socket& client) {
  co_await client.async_wait(tcp::socket::wait_read, awaited);
}

asio::awaitable<void> expire(seconds after) {
  asio::steady_timer timer(co_await asio::this_coro::executor, after);
  co_await timer.async_wait(awaited);
}

std::string describe(const jail::ExitReport& report) {
  std::string text{jail::to_string(report.ended)};
  if (report.ended == jail::Ended::exited) text += " " + std::to_string(report.exit_code);
  if (report.ended == jail::Ended::signaled) text += " " + std::to_string(report.signal);
  return text;
}

asio::awaitable<void> begin_answer(tcp::socket& client) {
  http::response<http::empty_body> head(http::status::ok, 11);
  head.set(http::field::content_type, "text/plain; charset=utf-8");
  head.set(http::field::trailer, "Jail-Ended");
  head.keep_alive(false);
  head.chunked(true);
  http::response_serializer<http::empty_body> serializer(head);
  co_await http::async_write_header(client, serializer, awaited);
}

asio::awaitable<void> end_answer(tcp::socket& client, const jail::ExitReport& report) {
  http::fields trailer;
  trailer.set("Jail-Ended", describe(report));
  co_await asio::async_write(client, http::make_chunk_last(trailer), awaited);
}

jail::Result<void> start(jail::Jail& jail, const std::string& program) {
  if (auto put = jail.write_file("main.py", program, 0644); !put) return put;
  jail::RunLimits limits;
  limits.wall = max_wall;
  limits.cpu = max_wall;
  return jail.start(limits);
}

}  // namespace

asio::awaitable<bool> Watched::readable() {
  const auto [error] =
      co_await descriptor_.async_wait(asio::posix::stream_descriptor::wait_read, awaited);
  co_return !error;
}

asio::awaitable<std::optional<std::string>> receive(tcp::socket& client) {
  Parser parser;
  parser.body_limit(max_program_bytes);
  const auto came = co_await (read_request(client, parser) || expire(max_to_send));
  if (came.index() == 1 || !std::get<0>(came)) {
    co_await refuse(client, 400, "not a request of at most 1 MiB within 10 s");
    co_return std::nullopt;
  }
  if (parser.get().method() != http::verb::post || parser.get().target() != "/run") {
    co_await refuse(client, 404, "POST /run, with a Python program");
    co_return std::nullopt;
  }
  co_return std::move(parser.get().body());
}

asio::awaitable<void> run_for(tcp::socket& client, jail::Jail jail, std::string program) {
  const auto trouble = co_await (become_ready(jail) || leave(client) || expire(max_to_ready));
  if (trouble.index() == 1) co_return;  // ~Jail ends the jail, here and below
  if (trouble.index() == 2) co_return co_await refuse(client, 503, "no jail in time");
  if (std::get<0>(trouble)) {
    co_return co_await refuse(client, 503, std::get<0>(trouble)->message());
  }
  if (const auto started = start(jail, program); !started) {
    co_return co_await refuse(client, 500, started.error().message());
  }
  co_await begin_answer(client);
  asio::posix::stream_descriptor output(client.get_executor(), jail.take_stdout().release());
  jail.take_stdin().reset();  // programs here have no input: they read end of file
  const auto first = co_await ((stream(output, client) && become_ended(jail)) || leave(client) ||
                               expire(max_wall + grace));
  if (first.index() == 1) co_return;
  if (jail.phase() != jail::Phase::ended) jail.kill(jail::Ended::timed_out);
  // A client that did not take its answer in time does not get the end of it either.
  if (first.index() == 0) co_await end_answer(client, jail.report());
}

asio::awaitable<void> refuse(tcp::socket& client, unsigned status, std::string reason) {
  http::response<http::string_body> response(http::int_to_status(status), 11);
  response.set(http::field::content_type, "text/plain; charset=utf-8");
  if (status == 503) response.set(http::field::retry_after, "1");
  response.keep_alive(false);
  response.body() = std::move(reason) + "\n";
  response.prepare_payload();
  co_await http::async_write(client, response, awaited);
}
