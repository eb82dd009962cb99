#include "runtime/sandbox/warm_pool.h"

#include <boost/asio/post.hpp>
#include <chrono>
#include <utility>

namespace runtime {
namespace {

namespace asio = boost::asio;
using jail::Error;
using jail::ErrorKind;
using jail::Result;

// A pool that could not be opened is tried again after this time, at the next request for it.
constexpr std::chrono::seconds pause_after_failure{5};
// A pool that has never had a jail ready, and fails, is closed when nobody has requested one for
// this long: its zygote would be started again and again in vain.
constexpr std::chrono::seconds failing_for_nobody{60};

// Returns whether as many jails are under way as the pool may make. A shortage is different:
// another pool may hold what this one waits for.
bool has_no_turn_yet(const Result<Leased>& leased) {
  return !leased && leased.error().kind == ErrorKind::exhausted && !is_shortage(leased.error());
}

// Adds the counts since the start, not the present numbers.
void add_counts(jail::PoolState& to, const jail::PoolState& from) {
  to.leases += from.leases;
  to.misses += from.misses;
  to.zygotes += from.zygotes;
  to.failures += from.failures;
}

}  // namespace

WarmPool::WarmPool(const asio::any_io_executor& executor, std::shared_ptr<const TimeSource> clock,
                   Open open, jail::TemplateSpec spec, jail::PoolOptions options, Troubled troubled)
    : strand_(asio::make_strand(executor)),
      clock_(std::move(clock)),
      open_(std::move(open)),
      spec_(std::move(spec)),
      options_(options),
      troubled_(std::move(troubled)),
      event_(strand_) {}

WarmPool::~WarmPool() {
  if (event_.is_open()) event_.release();  // the Pool owns the descriptor
}

void WarmPool::post(void (WarmPool::*what)()) {
  asio::post(strand_, [weak = weak_from_this(), what] {
    if (const auto self = weak.lock()) ((*self).*what)();
  });
}

void WarmPool::open() {
  const std::lock_guard lock(mutex_);
  asked_at_ = clock_->now();
  if (pool_ != nullptr || opening_ || asked_at_ < next_try_) return;
  opening_ = true;
  post(&WarmPool::open_now);
}

// Must be called on the strand, as everything that touches event_.
void WarmPool::open_now() {
  auto opened = open_(spec_, options_);
  Served served;
  {
    const std::lock_guard lock(mutex_);
    opening_ = false;
    if (opened) {
      pool_ = *opened;
    } else {
      trouble_ = opened.error().message();
      next_try_ = clock_->now() + pause_after_failure;
      serve(served);
    }
  }
  for (auto& [ticket, leased] : served) (*ticket)(std::move(leased));
  if (opened) {
    event_.assign(pool_->event_fd());
    on_event();
  } else {
    tell_trouble(opened.error().message());
  }
}

// The launcher behind the pool has ended: another one takes over.
void WarmPool::reopen() {
  {
    const std::lock_guard lock(mutex_);
    if (pool_ == nullptr || !pool_->maker_has_ended()) return;
    opening_ = true;
  }
  close();
  open_now();
}

void WarmPool::close() {
  std::shared_ptr<PoolHandle> old;
  {
    const std::lock_guard lock(mutex_);
    old = std::exchange(pool_, nullptr);
    add_counts(past_, old->state());
    been_ready_ = false;
  }
  if (event_.is_open()) event_.release();
  old.reset();
}

// Must be called with the lock held.
bool WarmPool::fails_for_nobody() const {
  return !been_ready_ && !trouble_.empty() && waiting_.empty() &&
         clock_->now() - asked_at_ > failing_for_nobody;
}

void WarmPool::watch() {
  event_.async_wait(asio::posix::stream_descriptor::wait_read,
                    [weak = weak_from_this()](const boost::system::error_code& error) {
                      const auto self = weak.lock();
                      if (!error && self != nullptr) self->on_event();
                    });
}

void WarmPool::on_event() {
  if (pool_ == nullptr) return;
  pool_->advance();
  Served served;
  std::string trouble;
  bool is_unused = false;
  {
    const std::lock_guard lock(mutex_);
    note_state();
    serve(served);
    trouble = trouble_;
    is_unused = fails_for_nobody();
    if (!trouble_.empty() && pool_->maker_has_ended()) post(&WarmPool::reopen);
  }
  for (auto& [ticket, leased] : served) (*ticket)(std::move(leased));
  tell_trouble(trouble);
  is_unused ? close() : watch();
}

// Must be called with the lock held.
void WarmPool::note_state() {
  jail::PoolState state = pool_->state();
  been_ready_ = been_ready_ || state.ready > 0;
  trouble_ = std::move(state.trouble);
}

// Must be called with the lock held: gives the available jails to those who wait, in the order in
// which they came.
void WarmPool::serve(Served& served) {
  while (!waiting_.empty()) {
    const Ticket ticket = waiting_.front().ticket.lock();
    if (ticket != nullptr) {
      if (!been_ready_ && trouble_.empty()) return;
      Result<Leased> leased = pool_ == nullptr
                                  ? Error{ErrorKind::closed, "lease a jail: " + trouble_, 0, {}}
                                  : lease(pool_, waiting_.front().invocation);
      if (has_no_turn_yet(leased)) return;
      served.emplace_back(ticket, std::move(leased));
    }
    waiting_.pop_front();
  }
}

Result<Leased> WarmPool::lease(const std::shared_ptr<PoolHandle>& pool,
                               const std::optional<jail::Invocation>& invocation) {
  auto jail = invocation ? pool->launch(*invocation) : pool->lease();
  if (!jail) {
    if (jail.error().kind == ErrorKind::closed) post(&WarmPool::reopen);
    return jail.error();
  }
  const bool forked = spec_.warmth == jail::Warmth::forked;
  const bool warm = forked || (*jail)->phase() == jail::Phase::ready;
  std::function<bool()> maker_has_ended;
  if (!warm) {
    maker_has_ended = [made_by = std::weak_ptr(pool)] {
      const auto maker = made_by.lock();
      return maker == nullptr || maker->maker_has_ended();
    };
  }
  return Leased{.jail = std::move(*jail),
                .pooled = true,
                .warm = warm,
                .template_name = spec_.name,
                .maker = forked ? nullptr : pool->maker(),
                .maker_has_ended = std::move(maker_has_ended)};
}

std::optional<Result<Leased>> WarmPool::take(const std::optional<jail::Invocation>& invocation,
                                             Patience patience, const MakeTicket& make_ticket) {
  std::shared_ptr<PoolHandle> pool;
  bool free_to_take = false;
  {
    const std::lock_guard lock(mutex_);
    asked_at_ = clock_->now();
    pool = pool_;
    if (pool != nullptr && !been_ready_) note_state();
    free_to_take = been_ready_ && waiting_.empty();
  }
  if (pool == nullptr) open();
  // Making a jail on demand takes a while, so the lock is not held.
  if (free_to_take) {
    Result<Leased> leased = lease(pool, invocation);
    if (!has_no_turn_yet(leased)) return leased;
  }
  const std::lock_guard lock(mutex_);
  if (!been_ready_ && (patience == Patience::none || !trouble_.empty())) {
    const std::string why = trouble_.empty() ? "none has been made yet" : trouble_;
    return Error{ErrorKind::closed, "lease a jail: " + why, 0, {}};
  }
  // A jail may have become ready in between, and nobody was waiting for it.
  if (free_to_take && waiting_.empty() && pool_ != nullptr) {
    Result<Leased> leased = lease(pool_, invocation);
    if (!has_no_turn_yet(leased)) return leased;
  }
  waiting_.push_back({.ticket = make_ticket(), .invocation = invocation});
  return std::nullopt;
}

Result<LaunchedLiving> WarmPool::launch_living(const jail::Limits& limits,
                                               const jail::Limits& max_limits) {
  std::shared_ptr<PoolHandle> pool;
  std::string trouble;
  {
    const std::lock_guard lock(mutex_);
    asked_at_ = clock_->now();
    pool = pool_;
    trouble = trouble_;
  }
  if (pool == nullptr) {
    open();
    if (trouble.empty()) return Error{ErrorKind::exhausted, "make a jail: no pool yet", 0, {}};
    return Error{ErrorKind::closed, "make a jail: " + trouble, 0, {}};
  }
  auto launched = pool->launch_living(limits, max_limits);
  if (!launched && launched.error().kind == ErrorKind::closed) post(&WarmPool::reopen);
  return launched;
}

bool WarmPool::give_up_one() {
  std::shared_ptr<PoolHandle> pool;
  {
    const std::lock_guard lock(mutex_);
    pool = pool_;
  }
  return pool != nullptr && pool->give_up_one();
}

jail::PoolState WarmPool::state() const {
  std::shared_ptr<PoolHandle> pool;
  jail::PoolState past;
  {
    const std::lock_guard lock(mutex_);
    pool = pool_;
    past = past_;
    past.trouble = trouble_;
  }
  if (pool == nullptr) return past;
  jail::PoolState now = pool->state();
  add_counts(now, past);
  return now;
}

// Must be called on the strand. Reports each reason once.
void WarmPool::tell_trouble(const std::string& trouble) {
  if (trouble == told_) return;
  told_ = trouble;
  if (troubled_) troubled_(spec_.name, trouble);
}

}  // namespace runtime
