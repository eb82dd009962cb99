// Fetches from a thread that is not on a loop.
#pragma once

#include <boost/asio/co_spawn.hpp>
#include <boost/asio/executor_work_guard.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/use_future.hpp>
#include <chrono>
#include <future>
#include <string>
#include <thread>
#include <utility>
#include <variant>

#include "runtime/llm/http_client.h"

namespace runtime::llm {

using namespace std::chrono_literals;
using Clock = std::chrono::steady_clock;

// A loop with one thread; the server has several of these.
class LoopThread {
 public:
  ~LoopThread() {
    busy_.reset();
    thread_.join();
  }
  boost::asio::io_context& loop() { return loop_; }

  std::future<HttpOutcome> spawn(boost::asio::awaitable<HttpOutcome> call) {
    return boost::asio::co_spawn(loop_, std::move(call), boost::asio::use_future);
  }

 private:
  boost::asio::io_context loop_{1};
  boost::asio::executor_work_guard<boost::asio::io_context::executor_type> busy_{
      loop_.get_executor()};
  std::thread thread_{[this] { loop_.run(); }};
};

inline HttpRequest get(std::string url) {
  HttpRequest request;
  request.url = std::move(url);
  return request;
}

inline HttpRequest post(std::string url, std::string body) {
  HttpRequest request = get(std::move(url));
  request.method = "POST";
  request.headers = {{"Content-Type", "application/json"}, {"Authorization", "Bearer SECRET"}};
  request.body = std::move(body);
  return request;
}

inline FetchOptions within(std::chrono::milliseconds time) {
  FetchOptions options;
  options.deadline = Clock::now() + time;
  return options;
}

// Returns "200 body", or "timed_out(200, body began): text".
inline std::string told(const HttpOutcome& outcome) {
  if (const auto* reply = std::get_if<HttpReply>(&outcome)) {
    return std::to_string(reply->status) + " " + reply->body.substr(0, 200);
  }
  const auto& fault = std::get<HttpFault>(outcome);
  constexpr const char* kinds[] = {"unreachable", "timed_out", "interrupted",
                                   "too_large",   "cancelled", "forbidden"};
  return std::string(kinds[fault.kind]) + "(" + std::to_string(fault.status) +
         (fault.body_began ? ", body began): " : "): ") + fault.text;
}

}  // namespace runtime::llm
