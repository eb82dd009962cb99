#include "runtime/sandbox/acquisition.h"

#include <algorithm>
#include <boost/asio/post.hpp>
#include <utility>

namespace runtime {
namespace {

namespace asio = boost::asio;
using jail::Error;
using jail::ErrorKind;
using jail::Phase;
using jail::Result;

// Setting up takes milliseconds, so a host that needs this long is in trouble. A jail from a pool
// is given up sooner, since one that is made for the program alone can take its place.
constexpr std::chrono::seconds set_up_deadline{10};
constexpr std::chrono::seconds pooled_set_up_deadline{5};
// How often the maker of a jail that is not ready is looked at: it may have been killed before it
// said that there is a jail.
constexpr std::chrono::milliseconds look_at_maker{100};
// The pause after a jail was given up: its processes take about this long to end.
constexpr std::chrono::milliseconds end_of_a_jail{10};

Error queue_is_full() { return {ErrorKind::exhausted, "run a program: the queue is full", 0, {}}; }

Error none_in_time(std::string_view what) {
  return {ErrorKind::exhausted, "run a program: " + std::string(what), 0, {}};
}

Error not_ready(std::chrono::seconds after) {
  return {ErrorKind::timed_out,
          "set up a jail: it is not ready after " + std::to_string(after.count()) + " s", 0,
          "the host is too busy, or a process of this server does not answer"};
}

// Returns whether a launcher or a zygote was killed or hangs while it made this jail, or the jail
// was killed while it waited.
bool is_not_its_own_fault(const Leased& leased, const Result<void>& done) {
  return leased.pooled || (!done && done.error().kind == ErrorKind::closed);
}

}  // namespace

Acquisition::Acquisition(std::shared_ptr<Alarm> alarm, const TimeSource& clock,
                         std::shared_ptr<Admission> admission, Launch launch, MakeRoom make_room)
    : alarm_(std::move(alarm)),
      clock_(clock),
      admission_(std::move(admission)),
      launch_(std::move(launch)),
      make_room_(std::move(make_room)) {}

Acquisition::~Acquisition() {
  if (queued_ != nullptr) admission_->withdraw(queued_);
}

asio::awaitable<Result<Leased*>> Acquisition::acquire(const RunRequest& request, std::string caller,
                                                      Start start) {
  Leased* const cancelled = nullptr;
  asked_at_ = placed_at_ = clock_.now();
  patience_ = asked_at_ + request.timeout;
  if (auto place = admission_->take_free()) {
    place_ = std::move(*place);
  } else {
    const auto waited = co_await wait_for_place(std::move(caller));
    if (!waited) co_return waited.error();
    if (*waited == Waited::cancelled) co_return cancelled;
  }
  JailMaker failed;
  for (Way way = Way::any;;) {
    if (alarm_->cancelled()) co_return cancelled;
    Tried tried = launch(request, way, failed);
    if (!tried) tried = co_await wait_for_jail(request);
    if (!tried) co_return cancelled;
    Result<void> done;
    if (*tried) {
      held_.emplace(std::move(**tried), *alarm_);
      if (held_->leased.jail->phase() == Phase::launching) done = co_await until_ready();
      if (done && held_->leased.jail->phase() == Phase::ready) done = start(held_->leased);
    } else {
      done = tried->error();
    }
    // Starting a program opens descriptors too.
    bool has_more_room = false;
    if (!done && is_shortage(done.error())) has_more_room = co_await more_room();
    if (has_more_room) continue;
    if (!*tried) co_return done.error();
    Leased& leased = held_->leased;
    if (done && leased.jail->phase() == Phase::running) co_return &leased;
    const bool again = way == Way::cold;
    const bool is_final = again || alarm_->cancelled() || !is_not_its_own_fault(leased, done);
    if (is_final && !done) co_return done.error();
    if (is_final) co_return &leased;
    failed = std::move(leased.maker);
    held_.reset();
    way = Way::cold;
  }
}

asio::awaitable<Result<Acquisition::Waited>> Acquisition::wait_for_place(std::string caller) {
  const auto answer = std::make_shared<std::optional<std::optional<Admission::Place>>>();
  queued_ = admission_->ask(caller, answer_to(answer));
  if (queued_ == nullptr) co_return queue_is_full();
  const Waited waited = co_await wait_for(answer, [this] { return admission_->withdraw(queued_); });
  if (waited == Waited::late) co_return none_in_time("no place became free in time");
  if (waited == Waited::cancelled) co_return waited;
  queued_ = nullptr;
  if (!**answer) co_return queue_is_full();  // it went to a caller with fewer requests
  place_ = std::move(***answer);
  co_return waited;
}

// The place is held meanwhile. Returns std::nullopt if cancelled.
asio::awaitable<Acquisition::Tried> Acquisition::wait_for_jail(const RunRequest& request) {
  const auto answer = std::exchange(answer_, nullptr);
  const Waited waited = co_await wait_for(answer, [] { return true; });
  ticket_ = nullptr;
  if (waited == Waited::cancelled) co_return std::nullopt;
  if (waited == Waited::late) co_return none_in_time(no_jail_of_template);
  placed_at_ = clock_.now();
  if (**answer) co_return std::move(**answer);
  co_return launch(request, Way::cold, nullptr);
}

// Frees what the jail needs by giving up jails that nobody waits for. Returns false where there are
// none.
asio::awaitable<bool> Acquisition::more_room() {
  if (clock_.now() >= patience_ || !make_room_()) co_return false;
  held_.reset();
  alarm_->set_deadline(clock_.now() + end_of_a_jail);
  while (!alarm_->cancelled() && !alarm_->deadline_passed()) co_await alarm_->wait();
  co_return true;
}

// `withdraw` returns whether no answer is under way.
template <class T, class Withdraw>
asio::awaitable<Acquisition::Waited> Acquisition::wait_for(std::shared_ptr<std::optional<T>> answer,
                                                           Withdraw withdraw) {
  alarm_->set_deadline(patience_);
  while (!answer->has_value()) {
    if (alarm_->cancelled()) co_return Waited::cancelled;
    if (alarm_->deadline_passed() && withdraw()) co_return Waited::late;
    co_await alarm_->wait();
  }
  co_return Waited::answered;
}

// The answer may come from another thread.
template <class T>
std::function<void(T)> Acquisition::answer_to(
    const std::shared_ptr<std::optional<T>>& answer) const {
  return [weak = std::weak_ptr(alarm_), answer](T value) {
    auto alarm = weak.lock();
    if (alarm == nullptr) return;
    const asio::any_io_executor home = alarm->executor();
    asio::post(home, [alarm = std::move(alarm), answer, value = std::move(value)]() mutable {
      answer->emplace(std::move(value));
      alarm->wake();
    });
  };
}

// It is no Error that a jail ends before it is ready, or is killed because the run is cancelled.
asio::awaitable<Result<void>> Acquisition::until_ready() {
  Leased& leased = held_->leased;
  const std::chrono::seconds patience = leased.pooled ? pooled_set_up_deadline : set_up_deadline;
  const TimeSource::Time deadline = clock_.now() + patience;
  alarm_->set_deadline(leased.maker_has_ended ? clock_.now() + look_at_maker : deadline);
  while (leased.jail->phase() == Phase::launching) {
    if (alarm_->cancelled()) {
      leased.jail->kill(jail::Ended::cancelled);
      break;
    }
    bool maker_has_ended = false;
    if (alarm_->deadline_passed()) {
      if (clock_.now() >= deadline) co_return not_ready(patience);
      maker_has_ended = leased.maker_has_ended();
      alarm_->set_deadline(std::min(deadline, clock_.now() + look_at_maker));
    } else {
      co_await alarm_->wait();
    }
    // Reads what the maker has said before it ended, too.
    const auto phase = leased.jail->advance();
    if (!phase) co_return phase.error();
    if (maker_has_ended && *phase == Phase::launching && leased.jail->process_fd() < 0) {
      co_return Error{ErrorKind::closed, "make a jail: its launcher has ended", 0, {}};
    }
  }
  co_return Result<void>();
}

Acquisition::Tried Acquisition::launch(const RunRequest& request, Way way,
                                       const JailMaker& failed) {
  placed_at_ = clock_.now();
  return launch_(request, way, failed, [this] { return make_ticket(); });
}

WarmPool::Ticket Acquisition::make_ticket() {
  answer_ = std::make_shared<Tried>();
  ticket_ = std::make_shared<WarmPool::Ticket::element_type>(answer_to(answer_));
  return ticket_;
}

}  // namespace runtime
