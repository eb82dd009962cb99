// Gets a jail for a run: a place, then a jail that waits or is made, and another one where that
// fails before the program runs.
#pragma once

#include <boost/asio/awaitable.hpp>
#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "jail/result.h"
#include "runtime/sandbox/admission.h"
#include "runtime/sandbox/alarm.h"
#include "runtime/sandbox/jail_handle.h"
#include "runtime/sandbox/run_request.h"
#include "runtime/sandbox/time_source.h"
#include "runtime/sandbox/warm_pool.h"

namespace runtime {

// The end of the error of a run that named a template and waited for one of its jails in vain.
inline constexpr std::string_view no_jail_of_template = "no jail of its template was ready in time";

// Belongs to one run, on the executor of its alarm. The destructor gives up the jail, and after
// that the place.
class Acquisition {
 public:
  enum class Way : std::uint8_t { any, cold };
  // Returns a jail for the request, or std::nullopt where the request waits for one, by a ticket
  // that was made for it. `failed` is the maker of a jail that failed: it has ended, or is about
  // to, though it may still take orders. With Way::cold the result is always a jail or an Error.
  using Launch = std::function<std::optional<jail::Result<Leased>>(
      const RunRequest&, Way, const JailMaker& failed, const WarmPool::MakeTicket&)>;
  // Gives up a jail that nobody waits for; returns false where there is none.
  using MakeRoom = std::function<bool()>;
  // Starts the program in a jail that is ready.
  using Start = std::function<jail::Result<void>(Leased&)>;

  // `clock` must outlive it.
  Acquisition(std::shared_ptr<Alarm> alarm, const TimeSource& clock,
              std::shared_ptr<Admission> admission, Launch launch, MakeRoom make_room);
  ~Acquisition();
  Acquisition(const Acquisition&) = delete;
  Acquisition& operator=(const Acquisition&) = delete;

  // Must be called once. Returns a jail in which `start` has started the program, or that ended
  // before; null where the run was cancelled before it had one. Watches the jail from then on, for
  // the alarm. Does not suspend where a place is free and a jail waits. A program that waits longer
  // than it may run fails with ErrorKind::exhausted, as where the queue is full, since its caller
  // is assumed to be gone. Where the host lacks the resources for a jail, jails that nobody waits
  // for are given up, one after the other, until there are enough. Other errors: as Launch and
  // Start, and timed_out where the jail is not ready in time. `request` must stay where it is
  // meanwhile.
  boost::asio::awaitable<jail::Result<Leased*>> acquire(const RunRequest& request,
                                                        std::string caller, Start start);

  // Lets another run begin, although the jail is there until the destructor.
  void give_place_up() { place_ = {}; }

  TimeSource::Time asked_at() const noexcept { return asked_at_; }
  // The time at which it last stopped waiting for a place or a jail; before that, the time of the
  // request.
  TimeSource::Time placed_at() const noexcept { return placed_at_; }

 private:
  using Tried = std::optional<jail::Result<Leased>>;
  enum class Waited : std::uint8_t { answered, cancelled, late };

  struct Held {
    Held(Leased what, Alarm& alarm)
        : leased(std::move(what)), control(alarm, leased.jail->control_fd()) {}
    Leased leased;
    const Alarm::Watch control;
  };

  template <class T>
  std::function<void(T)> answer_to(const std::shared_ptr<std::optional<T>>& answer) const;
  template <class T, class Withdraw>
  boost::asio::awaitable<Waited> wait_for(std::shared_ptr<std::optional<T>> answer,
                                          Withdraw withdraw);
  boost::asio::awaitable<jail::Result<Waited>> wait_for_place(std::string caller);
  boost::asio::awaitable<Tried> wait_for_jail(const RunRequest& request);
  boost::asio::awaitable<jail::Result<void>> until_ready();
  boost::asio::awaitable<bool> more_room();
  Tried launch(const RunRequest& request, Way way, const JailMaker& failed);
  WarmPool::Ticket make_ticket();

  const std::shared_ptr<Alarm> alarm_;
  const TimeSource& clock_;
  const std::shared_ptr<Admission> admission_;
  const Launch launch_;
  const MakeRoom make_room_;
  TimeSource::Time asked_at_;
  TimeSource::Time placed_at_;
  TimeSource::Time patience_;  // the end of the wait for a place and a jail
  Admission::Ticket queued_;   // null unless the run waits for a place
  Admission::Place place_;
  WarmPool::Ticket ticket_;  // null unless the run waits for a jail of a pool
  std::shared_ptr<Tried> answer_;
  std::optional<Held> held_;
};

}  // namespace runtime
