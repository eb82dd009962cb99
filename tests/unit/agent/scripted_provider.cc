#include "tests/unit/agent/scripted_provider.h"

#include <algorithm>
#include <boost/asio/post.hpp>
#include <boost/asio/redirect_error.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/asio/this_coro.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <memory>

namespace runtime::agent {
namespace {

boost::asio::awaitable<void> until(Cancel cancel) {
  const boost::asio::any_io_executor executor = co_await boost::asio::this_coro::executor;
  const auto timer = std::make_shared<boost::asio::steady_timer>(executor);
  timer->expires_after(std::chrono::seconds(60));
  const Cancel::Listener on_cancel(cancel, [timer, executor] {
    boost::asio::post(executor,
                      [timer] { timer->expires_at(boost::asio::steady_timer::time_point::min()); });
  });
  boost::system::error_code ignored;
  co_await timer->async_wait(boost::asio::redirect_error(boost::asio::use_awaitable, ignored));
}

}  // namespace

boost::asio::awaitable<llm::Outcome<llm::ChatResponse>> ScriptedProvider::complete(
    llm::ChatRequest request, llm::CallOptions options) {
  const Role role = role_of(request);
  asked.push_back({role, request});
  max_at_once = std::max(max_at_once, ++at_once_);
  const boost::asio::any_io_executor executor = co_await boost::asio::this_coro::executor;
  co_await boost::asio::post(executor, boost::asio::use_awaitable);
  Reply reply = next(role);
  if (reply.on_ask) reply.on_ask();
  if (reply.never) co_await until(options.cancel);
  --at_once_;
  if (reply.never) reply.failure = failure(llm::Fault::cancelled, 0, "scripted: cancelled");
  if (reply.failure) co_return std::move(*reply.failure);
  if (options.on_text) {
    options.on_text(std::string_view(reply.text).substr(0, 3));
    options.on_text(
        std::string_view(reply.text).substr(std::min<std::size_t>(3, reply.text.size())));
  }
  llm::ChatResponse response;
  response.text = std::move(reply.text);
  response.finish = reply.finish;
  response.usage = usage_of_a_call;
  co_return response;
}

boost::asio::awaitable<llm::Outcome<std::vector<std::string>>> ScriptedProvider::list_models(
    llm::CallOptions) {
  co_return std::vector<std::string>{model_};
}

boost::asio::awaitable<llm::Outcome<std::chrono::milliseconds>> ScriptedProvider::health(
    llm::CallOptions) {
  co_return std::chrono::milliseconds(0);
}

}  // namespace runtime::agent
