#include "runtime/secrets/secret_gateways.h"

#include <signal.h>

#include <system_error>
#include <utility>

namespace runtime {

void SecretGateways::stop() {
  std::list<Worker> last;
  {
    const std::lock_guard lock(mutex_);
    is_stopped_ = true;
    last.swap(workers_);
  }
  stopped_.request();
  for (Worker& worker : last) worker.thread.join();
}

bool SecretGateways::start(std::function<void()> work) {
  const std::lock_guard lock(mutex_);
  if (is_stopped_) return false;
  for (auto each = workers_.begin(); each != workers_.end();) {
    const auto worker = each++;
    if (!worker->is_done) continue;
    worker->thread.join();
    workers_.erase(worker);
  }
  // A look-up may outlive its sandbox, for as long as a name server is silent.
  if (workers_.size() >= max_workers) return false;
  Worker& worker = workers_.emplace_back();
  // Signals are for threads that expect them.
  sigset_t all;
  sigset_t before;
  ::sigfillset(&all);
  ::pthread_sigmask(SIG_SETMASK, &all, &before);
  try {
    worker.thread = std::thread([&worker, work = std::move(work)]() mutable {
      work();
      work = nullptr;
      worker.is_done = true;
    });
  } catch (const std::system_error&) {
    workers_.pop_back();
    ::pthread_sigmask(SIG_SETMASK, &before, nullptr);
    return false;
  }
  ::pthread_sigmask(SIG_SETMASK, &before, nullptr);
  return true;
}

std::shared_ptr<void> SecretGateways::take_memory(std::uint64_t bytes) {
  if (memory_->fetch_add(bytes) + bytes > max_memory) {
    memory_->fetch_sub(bytes);
    return nullptr;
  }
  return {memory_.get(), [memory = memory_, bytes](void*) { memory->fetch_sub(bytes); }};
}

}  // namespace runtime
