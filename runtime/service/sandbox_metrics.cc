// Sandboxes: what each of them uses, when somebody asks and every few seconds.
#include <boost/asio/post.hpp>
#include <memory>
#include <utility>

#include "runtime/service/sandboxes.h"

namespace runtime {
namespace {

namespace asio = boost::asio;
using jail::Result;

Result<SandboxUsage> look_at(const Sandbox& sandbox) {
  auto target = sandbox.living()->usage_target();
  if (!target) return target.error();
  const bool has_cgroup = sandbox.enforcement().memory == jail::Enforcer::cgroup;
  if (has_cgroup) target->source = SandboxUsage::Source::cgroup;
  return usage_of(*target);
}

}  // namespace

asio::awaitable<Result<SandboxUsage>> Sandboxes::usage(Found sandbox) {
  auto look = [sandbox]() -> Result<SandboxUsage> {
    auto usage = look_at(*sandbox);
    if (!usage) return usage;
    return sandbox->usage_history().completed(*usage);
  };
  co_return co_await do_file_work(*sandbox, std::move(look));
}

// With mutex_ held. One timer for all, while one lives.
void Sandboxes::begin_sampling() {
  if (std::exchange(is_sampling_, true)) return;
  asio::post(sampling_, [this] { sample_later(); });
}

void Sandboxes::sample_later() {
  if (is_sampling_over_) return;
  sample_timer_.expires_after(UsageHistory::interval);
  sample_timer_.async_wait([this](boost::system::error_code error) {
    if (!error) sample_all();
  });
}

// What stands still uses nothing more.
void Sandboxes::sample_all() {
  auto running = std::make_shared<std::vector<Found>>();
  {
    const std::lock_guard lock(mutex_);
    bool has_living = false;
    for (const Found& sandbox : sandboxes_) {
      const Sandbox::State state = sandbox->state();
      has_living = has_living || state != Sandbox::State::ended;
      if (state == Sandbox::State::running) running->push_back(sandbox);
    }
    is_sampling_ = has_living;
    if (!has_living) return;
  }
  sample_next(std::move(running));
}

// One after the other: others wait for these threads, too.
void Sandboxes::sample_next(std::shared_ptr<std::vector<Found>> left) {
  if (left->empty()) return sample_later();
  const Found sandbox = std::move(left->back());
  left->pop_back();
  if (const auto usage = look_at(*sandbox)) sandbox->usage_history().add(*usage);
  asio::post(sampling_, [this, left = std::move(left)]() mutable { sample_next(std::move(left)); });
}

void Sandboxes::end_sampling() {
  asio::post(sampling_, [this] {
    is_sampling_over_ = true;
    sample_timer_.cancel();
  });
}

}  // namespace runtime
