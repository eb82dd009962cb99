// A Runner without jails: it returns what the test put in, and records the requests.
#pragma once

#include <atomic>
#include <boost/asio/steady_timer.hpp>
#include <boost/asio/this_coro.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <chrono>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "runtime/sandbox/program_root.h"
#include "runtime/sandbox/runner.h"

namespace server {

// A root that has every language.
inline runtime::ProgramRoot full_root() {
  runtime::ProgramRoot root;
  root.versions = {{"python3", "3.13.5"}, {"bash", "5.2.37"}, {"node", "20.19.2"}, {"esbuild", ""}};
  return root;
}

class FakeRunner final : public runtime::Runner {
 public:
  boost::asio::awaitable<jail::Result<runtime::RunResult>> run(
      runtime::RunRequest request, runtime::RunOptions options) override {
    {
      const std::lock_guard lock(mutex_);
      requests_.push_back(std::move(request));
    }
    ++started;
    boost::asio::steady_timer timer(co_await boost::asio::this_coro::executor);
    for (auto waited = std::chrono::milliseconds(0); waited < duration; waited += tick) {
      if (options.cancel.requested()) {
        ++cancelled;
        runtime::RunResult result;
        result.status = runtime::Status::cancelled;
        co_return result;
      }
      timer.expires_after(tick);
      co_await timer.async_wait(boost::asio::use_awaitable);
    }
    co_return answer;
  }

  std::optional<runtime::Admission::Claim> claim(const std::string& caller) override {
    return admission->claim(caller);
  }

  jail::Result<runtime::LivingJail> launch_living(const runtime::LivingRequest&) override {
    return jail::Error{jail::ErrorKind::unsupported, "launch a living jail", 0, {}};
  }
  jail::Result<std::string> explain(const runtime::RunRequest&) override {
    return std::string("no plan");
  }
  boost::asio::awaitable<void> catch_up_with_network() override { co_return; }

  runtime::RunnerState state() const override { return state_now; }

  std::vector<runtime::RunRequest> requests() const {
    const std::lock_guard lock(mutex_);
    return requests_;
  }

  std::unique_ptr<runtime::Admission> admission = std::make_unique<runtime::Admission>(1, 0);
  jail::Result<runtime::RunResult> answer = runtime::RunResult{};
  runtime::RunnerState state_now;
  std::chrono::milliseconds duration{0};
  std::atomic<int> started{0};
  std::atomic<int> cancelled{0};

 private:
  static constexpr std::chrono::milliseconds tick{5};

  mutable std::mutex mutex_;
  std::vector<runtime::RunRequest> requests_;
};

}  // namespace server
