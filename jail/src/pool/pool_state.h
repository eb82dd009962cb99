// The state of a pool, for the parts of its code.
#pragma once

#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <memory>
#include <mutex>
#include <optional>
#include <unordered_map>
#include <utility>

#include "jail/pool.h"
#include "parent/launcher_state.h"
#include "parent/shared_plans.h"
#include "pool/demand.h"
#include "pool/lateness.h"
#include "pool/template_host.h"

namespace jail {

struct Pool::State {
  State(std::shared_ptr<const Launcher::State> the_launcher, TemplateSpec the_spec,
        const PoolOptions& the_options)
      : launcher(std::move(the_launcher)),
        spec(std::move(the_spec)),
        options(the_options),
        lateness(is_forked() ? fork_deadline : start_deadline),
        demand(options.least, options.usual, options.most) {}

  using Clock = std::chrono::steady_clock;
  using milliseconds = std::chrono::milliseconds;

  static constexpr milliseconds first_retry{250};
  // A fork takes milliseconds; a zygote that makes none for this long hangs. An interpreter that is
  // started in its jail has as long as init gives it, and a little more.
  static constexpr milliseconds fork_deadline{5'000};
  static constexpr milliseconds start_deadline{35'000};

  // What an event of the pool's epoll instance is about.
  enum Source : std::uint64_t { source_timer, source_control, source_zygote, source_first_jail };

  // A zygote with what was made by it.
  struct Host {
    TemplateHost processes;
    Clock::time_point started_at;
    std::uint64_t forks = 0;
    // Living jails that it was made for have a copy each.
    std::shared_ptr<void> for_living = std::make_shared<char>();
  };
  // A living jail's plan, and the limits of one jail.
  struct Living {
    std::shared_ptr<const SharedPlan> plan;
    Limits limits;
    std::optional<Limits> max_limits;
    std::uint64_t max_memory_bytes = 0;  // that a start() may ask for instead
    std::chrono::milliseconds max_cpu{0};
  };
  struct Making {
    Jail jail;
    Clock::time_point since;
  };
  using Orders = std::unordered_map<std::uint64_t, Making>;
  using Lock = std::unique_lock<std::mutex>;
  enum class Waited : std::uint8_t { for_it, for_none };  // whether a request does

  bool is_forked() const { return spec.warmth == Warmth::forked; }

  Result<void> begin();
  void watch(int fd, std::uint64_t source) const;
  void unwatch(int fd) const;
  void wake_after(milliseconds delay);
  void on_timer();
  void on_jail(std::uint64_t source);
  void start_host();
  void on_host_control();
  void drop_host(std::shared_ptr<Host>& which);
  void fail(const Error& error);
  void fail_one(Clock::time_point ordered, const Error& error);
  void retire_surplus();
  void look_at_hosts();
  void give_up_overdue();
  std::size_t wanted();
  bool needs_proof(Clock::time_point now);
  Orders::iterator newest_order();
  void refill(Lock& lock);
  Result<Jail> make(Lock& lock, Waited waited, int invocation = -1, const Living* living = nullptr);
  std::uint32_t guest_work(Waited waited) const;
  Result<int> order_socket() const;
  std::optional<Jail> take_ready();
  std::optional<Jail> take_made_ahead();
  void note_lease(Jail& jail, bool missed);
  void keep_for_living_jails(std::shared_ptr<Host> old);
  void drop_replaced_hosts();
  static Result<Jail> launch_living(State& state, const Living& living);

  std::shared_ptr<const Launcher::State> launcher;
  const TemplateSpec spec;
  const PoolOptions options;
  TemplatePlans plans;
  SharedPlans living_plans;
  Fd epoll;
  Fd timer;

  std::mutex mutex;
  Lateness lateness;
  Demand demand;
  std::shared_ptr<Host> host;  // what forks; null before the first one is ready
  std::shared_ptr<Host> next;  // starting
  // These fork only into living jails that they made. The oldest is first.
  std::deque<std::shared_ptr<Host>> replaced;
  Orders making;
  std::deque<std::pair<std::uint64_t, Jail>> ready;
  std::uint64_t last_source = source_first_jail;
  bool wake_is_near = false;
  Clock::time_point last_tick = Clock::now();
  Clock::time_point last_miss{};       // when a request found nothing ready
  Clock::time_point stock_again_at{};  // none is made ahead before
  Clock::time_point retry_at{};
  milliseconds retry_after = first_retry;
  PoolState counts;
  std::shared_ptr<std::atomic<std::uint32_t>> leased =
      std::make_shared<std::atomic<std::uint32_t>>(0);
};

}  // namespace jail
