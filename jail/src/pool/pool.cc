#include "jail/pool.h"

#include <errno.h>
#include <sys/epoll.h>
#include <sys/timerfd.h>
#include <time.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <optional>

#include "parent/image_process.h"
#include "parent/invocation.h"
#include "parent/jail_state.h"
#include "parent/order.h"
#include "pool/pool_check.h"
#include "pool/pool_state.h"

namespace jail {
namespace {

using std::chrono::milliseconds;

// On demand, when nobody waits: requests that would wait longer than a cold run takes.
constexpr std::size_t made_at_once = 32;
// After a lease the refill waits this long while enough jails are left: a request should not share
// its processor with it.
constexpr milliseconds refill_delay{2};
constexpr milliseconds tick{250};
// What was given up is for somebody else, who needs a moment to take it.
constexpr milliseconds pause_after_giving_up{5'000};
// A jail that is made for the stock so soon after a request found it empty goes to the next one.
constexpr milliseconds pressed_after_miss{50};
constexpr milliseconds last_retry{30'000};
// Imports take seconds; a zygote that needs this long hangs.
constexpr milliseconds zygote_deadline{60'000};

}  // namespace

Result<void> Pool::State::begin() {
  auto made = TemplatePlans::make(spec, launcher->host);
  if (!made) return made.error();
  plans = std::move(*made);
  epoll = Fd(::epoll_create1(EPOLL_CLOEXEC));
  timer = Fd(::timerfd_create(CLOCK_MONOTONIC, TFD_CLOEXEC | TFD_NONBLOCK));
  if (!epoll.valid() || !timer.valid()) return system_error("watch a pool");
  watch(timer.get(), source_timer);
  wake_after(milliseconds(0));
  return {};
}

void Pool::State::watch(int fd, std::uint64_t source) const {
  epoll_event event{};
  event.events = EPOLLIN;
  event.data.u64 = source;
  // Without memory for it the tick still comes by.
  ::epoll_ctl(epoll.get(), EPOLL_CTL_ADD, fd, &event);
}

void Pool::State::unwatch(int fd) const { ::epoll_ctl(epoll.get(), EPOLL_CTL_DEL, fd, nullptr); }

void Pool::State::wake_after(milliseconds delay) {
  itimerspec when{};
  when.it_value.tv_sec = delay.count() / 1000;
  when.it_value.tv_nsec = std::max<long>(1, delay.count() % 1000 * 1'000'000);
  ::timerfd_settime(timer.get(), 0, &when, nullptr);
}

void Pool::State::on_timer() {
  std::uint64_t expirations = 0;
  if (::read(timer.get(), &expirations, sizeof expirations) < 0) return;
  wake_is_near = false;
  const auto now = Clock::now();
  if (now - last_tick >= tick) {
    demand.tick(std::chrono::duration<double>(now - last_tick).count());
    last_tick = now;
    reap_ended(launcher->process);
    retire_surplus();
    give_up_overdue();
    if (is_forked()) look_at_hosts();
  }
  wake_after(tick);
}

// Ended before it was leased, or ready.
void Pool::State::on_jail(std::uint64_t source) {
  if (const auto found = making.find(source); found != making.end()) {
    const auto phase = found->second.jail.advance();
    if (phase && *phase == Phase::launching) return;
    if (phase && *phase == Phase::ready) {
      const auto now = Clock::now();
      demand.made(std::chrono::duration<double>(now - found->second.since).count());
      lateness.made(now);
      retry_after = first_retry;
      counts.trouble.clear();
      ready.emplace_back(source, std::move(found->second.jail));
    } else {
      fail_one(found->second.since,
               phase ? Error{ErrorKind::closed, "make a jail: it ended", 0, {}} : phase.error());
    }
    making.erase(found);
    return;
  }
  const auto waiting = std::find_if(ready.begin(), ready.end(),
                                    [&](const auto& entry) { return entry.first == source; });
  if (waiting == ready.end()) return;
  // Init may be ready before its launcher has said that it launched it.
  const auto phase = waiting->second.advance();
  if (phase && *phase == Phase::ready) return;
  ready.erase(waiting);
  ++counts.failures;
}

void Pool::State::fail(const Error& error) {
  ++counts.failures;
  counts.trouble = error.message();
  const auto now = Clock::now();
  if (now < retry_at) return;  // jails that fail together are one failure of who makes them
  retry_at = now + retry_after;
  retry_after = std::min(last_retry, retry_after * 2);
}

void Pool::State::fail_one(Clock::time_point ordered, const Error& error) {
  if (lateness.is_alone(ordered, Clock::now())) {
    ++counts.failures;
  } else {
    fail(error);
  }
}

void Pool::State::start_host() {
  auto started = TemplateHost::start(launcher->socket.get(), plans);
  if (!started) {
    fail(started.error());
    return;
  }
  ++counts.zygotes;
  next = std::make_shared<Host>(Host{std::move(*started), Clock::now(), 0});
  watch(next->processes.control_fd(), source_control);
}

void Pool::State::on_host_control() {
  if (next == nullptr) return;
  const auto advanced = next->processes.advance();
  if (!advanced) {
    fail(advanced.error());
    drop_host(next);
  } else if (next->processes.is_ready()) {
    unwatch(next->processes.control_fd());
    if (host != nullptr) {
      unwatch(host->processes.zygote_fd());
      keep_for_living_jails(std::move(host));
    }
    host = std::move(next);
    next.reset();
    watch(host->processes.zygote_fd(), source_zygote);
    counts.trouble.clear();
  }
}

// Its jails go on: they end with their owners.
void Pool::State::drop_host(std::shared_ptr<Host>& which) {
  if (which->processes.is_ready()) {
    unwatch(which->processes.zygote_fd());
  } else {
    unwatch(which->processes.control_fd());
  }
  which.reset();
}

void Pool::State::look_at_hosts() {
  const auto now = Clock::now();
  drop_replaced_hosts();
  if (next != nullptr && now - next->started_at > zygote_deadline) {
    fail({ErrorKind::timed_out, "start a zygote: it is not ready in time", ETIMEDOUT, {}});
    drop_host(next);
  }
  const bool old = host != nullptr && (host->forks >= options.forks_per_zygote ||
                                       now - host->started_at >= options.zygote_age);
  if ((host == nullptr || old) && next == nullptr && now >= retry_at) start_host();
}

// One that is late while others come is given up alone. Otherwise who makes them hangs: a zygote is
// replaced, and requests that come while there is none are told so at once.
void Pool::State::give_up_overdue() {
  const auto now = Clock::now();
  bool hangs = false;
  std::erase_if(making, [&](const auto& entry) {
    const auto ordered = entry.second.since;
    if (!lateness.is_overdue(ordered, now)) return false;
    if (lateness.is_alone(ordered, now)) {
      ++counts.failures;
    } else {
      hangs = true;
    }
    return true;
  });
  if (!hangs) return;
  fail({ErrorKind::timed_out, "make a jail: it is not ready in time", ETIMEDOUT, {}});
  if (host == nullptr) return;
  drop_host(host);
  making.clear();
}

void Pool::State::retire_surplus() {
  // One at a time: a pool that was busy a moment ago may be again.
  if (ready.size() > demand.target()) ready.pop_front();
}

std::size_t Pool::State::wanted() {
  const auto now = Clock::now();
  if (now < stock_again_at) return 0;
  const std::size_t count = demand.to_order(ready.size(), making.size());
  return count == 0 && needs_proof(now) ? 1 : count;
}

bool Pool::State::needs_proof(Clock::time_point now) {
  const auto newest = newest_order();
  return newest != making.end() && lateness.needs_proof(newest->second.since, now);
}

auto Pool::State::newest_order() -> Orders::iterator {
  return std::max_element(making.begin(), making.end(),
                          [](const auto& a, const auto& b) { return a.first < b.first; });
}

Result<int> Pool::State::order_socket() const {
  if (!is_forked()) return launcher->socket.get();
  if (host != nullptr) return host->processes.socket();
  if (!counts.trouble.empty()) return Error{ErrorKind::closed, counts.trouble, 0, {}};
  return Error{ErrorKind::exhausted, "make a jail: its zygote is not ready yet", 0, {}};
}

std::uint32_t Pool::State::guest_work(Waited waited) const {
  std::uint32_t work = 0;
  const bool rehearses =
      spec.optimizations.rehearsal == Optimization::on && waited == Waited::for_none;
  if (rehearses) work |= wire::guest_rehearses;
  if (spec.optimizations.early_end == Optimization::on) work |= wire::guest_ends_early;
  return work;
}

// Called with the lock held; making the pipes and the request is done without it.
Result<Jail> Pool::State::make(Lock& lock, Waited waited, int invocation, const Living* living) {
  const auto socket = order_socket();
  if (!socket) return socket.error();
  const std::shared_ptr<Host> used = host;
  if (used != nullptr) ++used->forks;
  lock.unlock();
  JailOrder order;
  order.socket = *socket;
  order.image = plans.jail_image.get();
  order.plan = plans.jail;
  order.limits = spec.jail.limits;
  order.max_memory_bytes = spec.max_memory_bytes;
  order.max_cpu = spec.max_cpu;
  if (living != nullptr) {
    order.image = living->plan->image.get();
    order.plan = {living->plan, &living->plan->plan};
    order.living = &spec.jail;
    order.forks = true;
    order.limits = living->limits;
    order.max_limits = living->max_limits;
    order.max_memory_bytes = living->max_memory_bytes;
    order.max_cpu = living->max_cpu;
  }
  order.cgroups = launcher->cgroups ? &*launcher->cgroups : nullptr;
  order.invocation = invocation;
  order.guest_work = guest_work(waited);
  order.network = &spec.jail.network;
  order.proxy = launcher->egress.get();
  order.ids = launcher->ids.get();
  auto jail = order_jail(order);
  lock.lock();
  if (!jail && jail.error().kind == ErrorKind::closed && used != nullptr && used == host) {
    drop_host(host);
  }
  return jail;
}

void Pool::State::refill(Lock& lock) {
  const bool may = Clock::now() >= retry_at;
  if (is_forked() && host == nullptr && next == nullptr && may) start_host();
  if (is_forked() && host == nullptr) return;
  for (std::size_t count = may ? wanted() : 0; count > 0; --count) {
    const auto since = Clock::now();
    const bool pressed = ready.empty() && since - last_miss < pressed_after_miss;
    auto jail = make(lock, pressed ? Waited::for_it : Waited::for_none);
    if (!jail) {
      fail(jail.error());
      return;
    }
    const std::uint64_t source = ++last_source;
    const int control = jail->control_fd();
    making.emplace(source, Making{std::move(*jail), since});
    watch(control, source);
  }
}

// The first one that is alive: its event may not have been seen yet.
std::optional<Jail> Pool::State::take_ready() {
  while (!ready.empty()) {
    Jail jail = std::move(ready.front().second);
    ready.pop_front();
    unwatch(jail.control_fd());
    const auto phase = jail.advance();
    if (phase && *phase == Phase::ready) return jail;
    ++counts.failures;
  }
  return std::nullopt;
}

// The one that was ordered last is the furthest from being ready.
std::optional<Jail> Pool::State::take_made_ahead() {
  const auto newest = newest_order();
  if (newest == making.end()) return std::nullopt;
  Jail jail = std::move(newest->second.jail);
  making.erase(newest);
  unwatch(jail.control_fd());
  return jail;
}

// Counted as leased until its owner gives it up.
void Pool::State::note_lease(Jail& jail, bool missed) {
  demand.leased();
  ++counts.leases;
  if (missed) {
    demand.missed();
    ++counts.misses;
    last_miss = Clock::now();
  }
  ++*leased;
  Jail::State::keep(jail,
                    std::shared_ptr<void>(nullptr, [counter = leased](void*) { --*counter; }));
}

Pool::Pool(std::shared_ptr<State> state) noexcept : state_(std::move(state)) {}
Pool::Pool(Pool&&) noexcept = default;
Pool& Pool::operator=(Pool&&) noexcept = default;
Pool::~Pool() = default;

Result<Pool> Pool::open(const Launcher& launcher, TemplateSpec spec, PoolOptions options) {
  if (auto checked = check(spec, options); !checked) return checked.error();
  const bool has_way_out = spec.jail.network.kind == Network::Kind::egress;
  if (has_way_out && Launcher::State::of(launcher)->egress == nullptr) return no_proxy();
  auto state = std::make_shared<State>(Launcher::State::of(launcher), std::move(spec), options);
  if (auto begun = state->begin(); !begun) return begun.error();
  return Pool(std::move(state));
}

int Pool::event_fd() const noexcept { return state_->epoll.get(); }

void Pool::advance() {
  State& state = *state_;
  State::Lock lock(state.mutex);
  std::array<epoll_event, 64> events;
  const int count = ::epoll_wait(state.epoll.get(), events.data(), events.size(), 0);
  for (int i = 0; i < count; ++i) {
    switch (const std::uint64_t source = events[i].data.u64) {
      case State::source_timer:
        state.on_timer();
        break;
      case State::source_control:
        state.on_host_control();
        break;
      case State::source_zygote:
        if (state.host != nullptr) state.drop_host(state.host);
        break;
      default:
        state.on_jail(source);
    }
  }
  state.refill(lock);
}

Result<Jail> Pool::lease() {
  State& state = *state_;
  State::Lock lock(state.mutex);
  std::optional<Jail> jail = state.take_ready();
  const bool missed = !jail;
  if (missed) {
    if (*state.leased + state.making.size() >= made_at_once + state.options.most) {
      return Error{ErrorKind::exhausted, "make a jail: too many are being made", 0, {}};
    }
    auto made = state.make(lock, State::Waited::for_it);
    if (!made) return made.error();
    jail.emplace(std::move(*made));
  }
  state.note_lease(*jail, missed);
  if (!state.wake_is_near) {
    state.wake_is_near = true;
    const bool enough = state.ready.size() > state.options.least;
    state.wake_after(enough ? refill_delay : milliseconds(0));
  }
  return std::move(*jail);
}

Result<Jail> Pool::launch(const Invocation& invocation) {
  State& state = *state_;
  if (!state.is_forked()) {
    return Error{ErrorKind::unsupported, "give arguments to a jail that is prepared", 0, {}};
  }
  std::vector<std::string> argv = state.spec.jail.argv;
  argv.insert(argv.end(), invocation.arguments.begin(), invocation.arguments.end());
  auto file = invocation_file(argv, invocation.env, state.spec.jail.network);
  if (!file) return file.error();
  State::Lock lock(state.mutex);
  auto jail = state.make(lock, State::Waited::for_it, file->get());
  if (jail) state.note_lease(*jail, true);
  return jail;
}

bool Pool::give_up_one() {
  std::optional<Jail> given_up;  // goes without the lock
  State& state = *state_;
  const State::Lock lock(state.mutex);
  given_up = state.take_ready();
  if (!given_up) given_up = state.take_made_ahead();
  if (!given_up) return false;
  state.demand.content_with(state.ready.size() + state.making.size());
  state.stock_again_at = State::Clock::now() + pause_after_giving_up;
  return true;
}

PoolState Pool::state() const {
  State& state = *state_;
  const State::Lock lock(state.mutex);
  PoolState now = state.counts;
  now.ready = static_cast<std::uint32_t>(state.ready.size());
  now.refilling = static_cast<std::uint32_t>(state.making.size());
  now.leased = *state.leased;
  now.target = static_cast<std::uint32_t>(state.demand.target());
  return now;
}

}  // namespace jail
