// A real server on a loopback port with a handler that the test writes.
#pragma once

#include <gtest/gtest.h>

#include <atomic>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/read.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/asio/strand.hpp>
#include <boost/asio/thread_pool.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <boost/asio/use_future.hpp>
#include <boost/asio/write.hpp>
#include <functional>
#include <memory>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

#include "server/http/http_server.h"
#include "tests/time_scale.h"
#include "tests/unit/server/test_client.h"

namespace server {

// A handler that the test may replace while another call of it has not quite ended.
class CustomHandler {
 public:
  using Function = std::function<boost::asio::awaitable<Response>(Request, runtime::Cancel)>;

  CustomHandler& operator=(Function function) {
    const std::lock_guard lock(mutex_);
    function_ = std::make_shared<const Function>(std::move(function));
    return *this;
  }

  std::shared_ptr<const Function> get() const {
    const std::lock_guard lock(mutex_);
    return function_;
  }

 private:
  mutable std::mutex mutex_;
  std::shared_ptr<const Function> function_;
};

// Echoes the body. /refused is rejected by its head; /wait works until its client is gone, or for
// `longest`; /block keeps its thread for as long; /throw fails as no handler should; /switch leaves
// HTTP and echoes in fours; /custom does what the test says, and so does /pieces, which gets its
// body in pieces.
class FakeHandler final : public Handler {
 public:
  Admittance admit(const RequestHead& head) const override {
    Admittance admittance;
    if (head.path == "/refused")
      admittance.refusal = problem(RefusalCode::no_such_path, "no such path");
    admittance.is_upgrade = head.path == "/switch";
    admittance.reads_body = head.path == "/pieces";
    return admittance;
  }

  boost::asio::awaitable<Response> handle(Request request, runtime::Cancel gone) override {
    const RequestHead& head = request.head;
    ++handled;
    if (head.path == "/custom" || head.path == "/pieces") {
      const auto function = custom.get();
      co_return co_await (*function)(std::move(request), std::move(gone));
    }
    if (head.path == "/throw") throw std::runtime_error("on purpose");
    if (head.path == "/wait") co_await wait(std::move(gone));
    if (head.path == "/block") std::this_thread::sleep_for(longest);
    Response response;
    response.body = std::move(request.body);
    response.headers.push_back({"X-Path", head.path});
    co_return response;
  }

  boost::asio::awaitable<void> upgrade(Socket socket, Request, BodyBudget&,
                                       runtime::Cancel) override {
    ++upgraded;
    std::string text(4, ' ');
    for (;;) {
      co_await boost::asio::async_read(socket, boost::asio::buffer(text),
                                       boost::asio::use_awaitable);
      co_await boost::asio::async_write(socket, boost::asio::buffer(text),
                                        boost::asio::use_awaitable);
    }
  }

  CustomHandler custom;
  std::atomic<int> handled{0};
  std::atomic<int> upgraded{0};
  std::atomic<int> gone_seen{0};
  std::chrono::milliseconds longest{3'000};

 private:
  boost::asio::awaitable<void> wait(runtime::Cancel gone) {
    boost::asio::steady_timer timer(co_await boost::asio::this_coro::executor);
    for (auto waited = std::chrono::milliseconds(0); waited < longest; waited += tick) {
      if (gone.requested()) {
        ++gone_seen;
        co_return;
      }
      timer.expires_after(tick);
      co_await timer.async_wait(boost::asio::use_awaitable);
    }
  }

  static constexpr std::chrono::milliseconds tick{5};
};

// Two executors, as in a server with two workers.
inline std::vector<boost::asio::any_io_executor> executors(boost::asio::thread_pool& pool) {
  return {boost::asio::make_strand(pool), boost::asio::make_strand(pool)};
}

class HttpTest : public ::testing::Test {
 protected:
  ~HttpTest() override {
    if (server_) stop(std::chrono::milliseconds(0));
    pool_.join();
  }

  void start(HttpOptions options = {}) {
    server_ = std::make_unique<HttpServer>(executors(pool_), options, handler_, logger_);
    listen();
  }

  void listen() {
    auto listener = listen_tcp("127.0.0.1", 0);
    ASSERT_TRUE(listener) << listener.error().message();
    port_ = listener->port;
    server_->listen(std::move(*listener));
  }

  std::future<bool> stopping(std::chrono::milliseconds patience) {
    return boost::asio::co_spawn(pool_, server_->stop(patience), boost::asio::use_future);
  }
  bool stop(std::chrono::milliseconds patience) { return stopping(patience).get(); }

  TestClient client() { return TestClient(port_); }
  Answer exchange(std::string_view bytes) { return client().exchange(bytes); }

  std::vector<std::string> log_lines() {
    const std::lock_guard lock(log_mutex_);
    return log_;
  }

  // Waits for an effect of another thread.
  template <class Condition>
  static bool eventually(Condition condition) {
    for (int tries = scaled_ms(2000) / 2; tries > 0; --tries) {
      if (condition()) return true;
      std::this_thread::sleep_for(std::chrono::milliseconds(2));
    }
    return false;
  }

  std::mutex log_mutex_;
  std::vector<std::string> log_;
  runtime::Logger logger_{{.level = runtime::LogLevel::debug,
                           .format = runtime::LogFormat::json,
                           .write = [this](std::string_view line) {
                             const std::lock_guard lock(log_mutex_);
                             log_.emplace_back(line);
                           }}};
  FakeHandler handler_;
  boost::asio::thread_pool pool_{2};
  std::unique_ptr<HttpServer> server_;
  std::uint16_t port_ = 0;
};

}  // namespace server
