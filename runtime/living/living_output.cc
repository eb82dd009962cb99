// The output of all processes of a sandbox, for readers of the whole.
#include <algorithm>
#include <chrono>
#include <memory>

#include "runtime/living/living_sandbox.h"

namespace runtime {
namespace {

constexpr std::uint64_t kept_of_ended_bytes = 64u << 10;
// Each piece takes memory of its own. One page shows all that are kept (OutputQuery::max_pieces).
constexpr std::size_t kept_of_ended_pieces = 900;
// The processes of a jail that has ended are dead, and their ends will be read soon.
constexpr std::chrono::seconds patience_for_ends{5};

}  // namespace

OutputPage LivingSandbox::output(const OutputQuery& query) const {
  const std::uint64_t until = order_->end();
  OutputSources sources;
  EndedSources ended;
  {
    const std::lock_guard lock(mutex_);
    sources.assign(processes_.begin(), processes_.end());
    ended = latest_output_;
  }
  return ended.empty() ? output_of(sources, query, until) : output_of(ended, query, until);
}

std::uint64_t LivingSandbox::output_tail(const OutputFilter& filter, std::size_t lines) const {
  const std::uint64_t until = order_->end();
  OutputSources sources;
  EndedSources ended;
  {
    const std::lock_guard lock(mutex_);
    sources.assign(processes_.begin(), processes_.end());
    ended = latest_output_;
  }
  return ended.empty() ? tail_of(sources, filter, until, lines)
                       : tail_of(ended, filter, until, lines);
}

// The last output of a process is read when it is seen to have ended.
boost::asio::awaitable<void> LivingSandbox::see_processes_end() const {
  const auto deadline = std::chrono::steady_clock::now() + patience_for_ends;
  for (const auto& process : processes()) co_await process->wait_for_end(deadline);
}

// Must be called with the mutex held.
EndedSources LivingSandbox::latest_output() const {
  const std::uint64_t end = order_->end();
  for (std::uint64_t bytes = kept_of_ended_bytes;; bytes /= 2) {
    EndedSources latest;
    std::size_t pieces = 0;
    for (const auto& process : processes_) {
      OutputLog log = process->latest_output(end - std::min(end, bytes));
      if (log.pieces() == 0) continue;
      pieces += log.pieces();
      latest.push_back(std::make_shared<const EndedOutput>(process->pid(), std::move(log)));
    }
    if (pieces <= kept_of_ended_pieces) return latest;
  }
}

}  // namespace runtime
