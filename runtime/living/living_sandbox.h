// One living sandbox: a jail, the processes in it, and what pauses and ends it.
#pragma once

#include <sys/types.h>

#include <boost/asio/any_io_executor.hpp>
#include <boost/asio/awaitable.hpp>
#include <chrono>
#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "jail/id_range.h"
#include "jail/jail.h"
#include "jail/result.h"
#include "runtime/living/living_process.h"
#include "runtime/living/sandbox_output.h"
#include "runtime/living/sandbox_usage.h"
#include "runtime/sandbox/alarm.h"
#include "runtime/sandbox/living_request.h"
#include "runtime/sandbox/time_source.h"
#include "runtime/secrets/secret_gateway.h"

namespace runtime {

// Thread-safe. Belongs to the executor of the caller that started it.
class LivingSandbox : public std::enable_shared_from_this<LivingSandbox> {
 public:
  using Time = TimeSource::Time;

  // The reason for which the sandbox ended. `jail`: the jail ended by itself, and its report says
  // why. `pause`: it was paused for as long as it may be. `disk`: its files take more than they
  // may.
  enum class Cause : std::uint8_t { jail, deleted, lifetime, idle, pause, stopping, disk };

  struct Ending {
    Cause cause = Cause::jail;
    jail::ExitReport report{};
    std::chrono::system_clock::time_point at{};
  };
  // While the sandbox is paused, these times stand still.
  struct Times {
    std::chrono::milliseconds lifetime{};             // from its start on
    std::optional<std::chrono::milliseconds> idle{};  // longest time unused; nullopt: for ever
    std::chrono::milliseconds max_lifetime{std::chrono::hours(24)};  // however often it is renewed
  };
  struct Pausing {
    bool in_place_of_end = false;   // when its lifetime is over, or it is idle
    bool resumes_on_demand = true;  // by any call that needs its processes
    std::chrono::milliseconds max_paused{std::chrono::hours(24)};  // after this time it ends
  };
  // Callbacks for events. They are called on any thread, within a call or a coroutine of the
  // sandbox, and must not call the sandbox.
  struct News {
    std::function<void(const Ending&)> on_end;                 // once, on the executor
    std::function<void(std::optional<Cause>)> on_paused = {};  // the reason; nullopt: on request
    std::function<void()> on_resumed = {};
  };

  // Secrets that the gateway of the sandbox adds to requests that leave it.
  struct Secrets {
    std::vector<NetworkSecret> secrets = {};             // each within the rules of its network
    std::shared_ptr<SecretGateways> gateways = nullptr;  // null: it can never have any
  };

  // Waits until the jail is ready. Errors: as jail::Jail::advance() and start(), and timed_out.
  static boost::asio::awaitable<jail::Result<std::shared_ptr<LivingSandbox>>> start(
      LivingJail jail, Times times, Pausing pausing, News news, Secrets secrets = no_secrets());

  LivingSandbox(const LivingSandbox&) = delete;
  LivingSandbox& operator=(const LivingSandbox&) = delete;

  // Whether somebody waits for the end of the work under way.
  enum class Attendance : std::uint8_t { none, awaited };

  // While a Use exists the sandbox is not idle.
  class Use {
   public:
    explicit Use(std::shared_ptr<LivingSandbox> sandbox, Attendance attendance = Attendance::none);
    Use(Use&&) noexcept = default;
    Use& operator=(Use&&) = delete;
    ~Use();

   private:
    std::shared_ptr<LivingSandbox> sandbox_;
    Attendance attendance_;
  };

  // Finds the program of a command. An `argv[0]` without a slash is looked up in the PATH of `env`
  // (its first 64 directories within 4 KiB); one with a slash is relative to the working directory.
  // `is_warm` stays set where a fork of the zygote would be what the command is.
  // A guest can hold the locks that this needs, so it must not be called on an event loop. Errors:
  // invalid (names what does not exist); closed.
  jail::Result<ProcessCommand> resolved(ProcessCommand command) const;

  // Runs on the awaiting executor, to which the process then belongs. The command must be one that
  // resolved() returned. Resumes the sandbox. Errors: closed (it has ended, or `cancel` was
  // requested before the process ran); refused (it is paused, and not resumed on demand); exhausted
  // (as many processes as there may be); kernel.
  boost::asio::awaitable<jail::Result<std::shared_ptr<LivingProcess>>> spawn(ProcessCommand command,
                                                                             Cancel cancel,
                                                                             ProcessNews news);

  // The language of its template.
  Language language() const noexcept { return language_; }

  // Returns the processes that run and the latest of those that have ended, the oldest first; none
  // once the sandbox has ended.
  std::vector<std::shared_ptr<LivingProcess>> processes() const;
  std::shared_ptr<LivingProcess> find(int pid) const;  // null where there is none
  // Forgets a process that has ended, with its output.
  void forget(int pid);
  std::uint32_t running() const;

  // The output of all of its processes, in the order in which it came; once the sandbox has ended
  // the latest part of it, some 64 KiB.
  OutputPage output(const OutputQuery& query) const;
  // The place where the latest `lines` lines of that output begin.
  std::uint64_t output_tail(const OutputFilter& filter, std::size_t lines) const;
  // As OutputOrder::wait_beyond().
  boost::asio::awaitable<void> wait_for_output(std::uint64_t place, Bell::Time deadline,
                                               Cancel cancel) const {
    return order_->wait_beyond(place, deadline, std::move(cancel));
  }

  // While it lives, this thread makes and opens files as the user of the host whom the guest is.
  jail::ActAsOwnerOf act_as_guest() const;
  // As jail::Jail::open_file(); closed where the sandbox has ended.
  jail::Result<jail::Fd> open_file(std::string_view path, int flags, std::uint32_t mode) const;

  // As jail::Jail::request_socket(); closed where the sandbox has ended or is ending.
  jail::Result<jail::Fd> request_socket(jail::SocketFamily family) const;
  // Returns a place for one connection to a server inside; while it is held the sandbox is not
  // idle. Returns null where all max_port_connections are in use.
  static constexpr std::uint32_t max_port_connections = 64;
  std::shared_ptr<void> take_port_place(Attendance attendance);

  // The input for usage_of() and similar functions; available while the sandbox is paused, too.
  // Errors: closed, kernel.
  jail::Result<UsageTarget> usage_target() const;

  // The destinations that the sandbox may reach, through the proxy of egress; empty: none.
  std::vector<std::string> network_rules() const;
  // Lets the sandbox reach the destinations of `rules`; none of its processes is needed for that.
  // When this has returned, no other destination is connected to any more, and open connections to
  // others have been cut. Processes that start later have the variables by which programs find the
  // proxy. One change after the other. Errors: invalid (names the rule, or there is no egress);
  // refused (a process inside has the port of the proxy); closed (it has ended); timed_out, after
  // which it can reach nothing; exhausted, kernel.
  // `secrets`, each of which a rule must allow, take the place of the earlier ones, whose requests
  // are cut. Processes that start later have the variable by which programs find the gateway.
  boost::asio::awaitable<jail::Result<void>> set_network(std::vector<std::string> rules,
                                                         std::vector<NetworkSecret> secrets = {});
  // The secrets that its gateway has, by their names alone.
  std::vector<SecretName> secret_names() const;
  // The same with their values, for set_network() to put them back.
  std::vector<NetworkSecret> secrets() const;

  // Changes its limits, and waits until they hold for every process that runs; a paused sandbox
  // stays paused. Errors: as jail::Jail::change_limits(); closed (it has ended); timed_out (they
  // are changed, and hold for processes that run once init answers).
  boost::asio::awaitable<jail::Result<void>> change_limits(jail::LimitChange change);

  // The calendar time of its start.
  std::chrono::system_clock::time_point began_at() const noexcept { return began_at_; }
  // The time at which it ends, or is paused instead, unless it is renewed.
  std::chrono::system_clock::time_point ends_at() const;
  // How long it may live in all, not counting pauses.
  std::chrono::milliseconds lifetime() const;
  // Sets the lifetime, which counts from now on, or from its resumption. It is reduced to what is
  // left of the lifetime that it may have in all.
  void set_lifetime(std::chrono::milliseconds time);
  // The same for one that is not paused, by the calendar.
  void set_ends_at(std::chrono::system_clock::time_point at);
  std::optional<std::chrono::milliseconds> idle() const;
  void set_idle(std::optional<std::chrono::milliseconds> idle);

  // Stops all of its processes, and waits until nothing runs any more. The sandbox goes on at once
  // where a process was being started meanwhile and it is resumed on demand. Errors: closed (it has
  // ended); timed_out (its processes have kept each other from being stopped, and go on); kernel.
  boost::asio::awaitable<jail::Result<void>> pause();
  // Lets its processes go on, at once. Errors: closed, kernel.
  jail::Result<void> resume();
  // The same for a caller that needs its processes, where it is resumed on demand. Errors: also
  // refused.
  jail::Result<void> resume_on_demand();
  std::optional<std::chrono::system_clock::time_point> paused_since() const;  // nullopt: it runs
  // For one that an earlier server had paused, and that has just been paused again: since when it
  // is, when that ends, and how much of its lifetime is left afterwards.
  void go_on_with_pause(std::chrono::system_clock::time_point since,
                        std::chrono::system_clock::time_point until,
                        std::chrono::milliseconds left);
  struct Clocks {
    std::chrono::system_clock::time_point ends_at{};  // as ends_at()
    std::chrono::milliseconds lived{};                // without pauses
    std::optional<std::chrono::system_clock::time_point> paused_since{};
    std::chrono::milliseconds left{};  // of its lifetime, while it is paused
  };
  Clocks clocks() const;  // at one moment
  const Pausing& pausing() const noexcept { return pausing_; }

  // Asks it to end; on_end follows. Has no effect on one that is already ending.
  void end(Cause cause);
  // The same, but waits until no process runs any more whose end somebody waits for.
  void end_when_unattended(Cause cause);
  std::optional<Ending> ending() const;  // nullopt: it lives
  // Why it is ending or has ended; nullopt: it lives, or its jail ended by itself.
  std::optional<Cause> cause_of_end() const;
  // Returns whether all of its files are still there: they go before its end is known.
  bool is_whole() const;
  // Returns whether its processes may still be there.
  bool lives() const;
  // Requested when it has ended: holders of open files must then close them, since these keep the
  // sandbox's memory.
  const Cancel& over() const noexcept { return over_; }
  // Waits until it has ended, at the latest until `deadline`.
  boost::asio::awaitable<void> wait_for_end(Bell::Time deadline) const;

 private:
  LivingSandbox(boost::asio::any_io_executor executor, LivingJail jail, Times times,
                Pausing pausing, News news, std::shared_ptr<SecretGateways> gateways);

  static Secrets no_secrets() { return {}; }
  static boost::asio::awaitable<void> drive(std::shared_ptr<LivingSandbox> self);
  boost::asio::awaitable<jail::Result<void>> begin(const jail::Launcher& launcher);
  boost::asio::awaitable<jail::Result<void>> change_network(
      const std::vector<std::string>& rules, const std::vector<NetworkSecret>& secrets);
  boost::asio::awaitable<jail::Result<void>> change_rules(const std::vector<std::string>& rules);
  boost::asio::awaitable<jail::Result<jail::Fd>> listen_for_secrets();
  jail::Result<void> note_secrets(jail::Fd listener, const std::vector<std::string>& rules,
                                  const std::vector<NetworkSecret>& secrets);
  void close_gateway_locked();
  boost::asio::awaitable<jail::Result<void>> open_way_out(const std::vector<std::string>& rules);
  jail::Result<void> note_network(std::shared_ptr<const jail::Fd> way_out,
                                  std::vector<std::string> rules);
  boost::asio::awaitable<jail::Result<std::shared_ptr<LivingProcess>>> start_one(
      ProcessCommand command, Cancel cancel);
  jail::Result<jail::Process> spawn_now(ProcessCommand& command);
  jail::Result<std::string> find_program(const ProcessCommand& command) const;
  bool has_user_packages(const ProcessCommand& command) const;
  void add(const std::shared_ptr<LivingProcess>& process);
  void forget_oldest_ended();
  void forget_oldest_ended_locked();
  void forget_locked(int pid);
  boost::asio::awaitable<void> see_processes_end() const;
  EndedSources latest_output() const;
  static jail::Error has_ended_error();
  bool look(Time now);
  bool lives_locked() const;
  void note_activity(Time now);
  std::optional<Cause> due(Time now) const;
  void begin_pause(std::optional<Cause> why, Time now);
  void note_paused(Time now);
  void note_not_paused();
  std::chrono::milliseconds time_left(Time now) const;
  jail::Result<void> resume_now();
  jail::Result<void> resume_on_demand_now();
  Time last_end() const;
  void set_end(Time at);
  std::chrono::system_clock::time_point end_by_calendar() const;
  void set_end_by_calendar(std::chrono::system_clock::time_point at);
  void end_now(Cause cause);
  Time next_look() const;
  void wake();

  const boost::asio::any_io_executor executor_;
  const std::shared_ptr<const TimeSource> clock_ = system_time();
  const std::shared_ptr<Alarm> alarm_;
  const std::function<void()> on_given_up_;
  const EgressSource egress_;
  const std::string network_label_;
  const std::shared_ptr<SecretGateways> gateways_;  // null: it has no secrets
  const Language language_;
  const std::optional<Zygote> zygote_;  // nullopt: nothing is forked into it
  const Times times_;                   // as they were at the start
  const Pausing pausing_;
  const News news_;
  const Time began_ = clock_->now();
  const std::chrono::system_clock::time_point began_at_ = std::chrono::system_clock::now();

  mutable std::mutex mutex_;
  std::shared_ptr<jail::Jail> jail_;  // held until it has ended
  std::optional<dev_t> disk_;         // the disk of its working directory
  std::vector<std::string> network_rules_;
  std::shared_ptr<const jail::Fd> way_out_;  // from EgressProxy::serve(); null: there is none
  std::shared_ptr<SecretGateway> gateway_;   // null: it has no secrets
  bool has_network_change_ = false;          // one is under way
  Bells for_its_network_;
  Bells for_its_limits_;
  std::optional<std::chrono::milliseconds> idle_;
  Time end_{};
  mutable std::chrono::system_clock::time_point ends_at_{};  // the same by the calendar
  struct Pause {
    std::optional<Cause> why{};                     // nullopt: somebody asked for it
    Time give_up_at{};                              // it fails if it has not begun by then
    std::optional<Time> began{};                    // once nothing ran any more
    std::chrono::system_clock::time_point since{};  // the same as calendar time
    std::chrono::milliseconds left{};               // the lifetime left afterwards
  };
  std::optional<Pause> pause_;              // asked for, or begun
  bool has_resisted_ = false;               // the last one did not begin
  std::chrono::milliseconds all_pauses_{};  // time of all pauses that are over
  mutable Bells for_its_pause_;
  std::optional<Cause> ending_;  // set when it is told to end
  Time kill_at_ = Time::max();   // it is killed where it has not ended by then
  std::optional<Ending> ended_;
  std::optional<Cause> then_;  // the reason for ending once nothing is awaited
  std::uint32_t uses_ = 0;
  std::uint32_t awaited_ = 0;   // number of processes whose end somebody waits for
  std::uint32_t starting_ = 0;  // number of processes that do not run yet, whose callers wait
  std::uint32_t port_connections_ = 0;
  Time last_used_;
  std::deque<std::shared_ptr<LivingProcess>> processes_;
  const std::shared_ptr<OutputOrder> order_ = std::make_shared<OutputOrder>();
  EndedSources latest_output_;  // set once it has ended
  mutable Bells for_its_end_;
  const Cancel over_;
};

}  // namespace runtime
