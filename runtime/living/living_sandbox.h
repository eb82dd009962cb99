// One sandbox that lives: a jail, the processes in it, and what brings it to its end.
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
#include <vector>

#include "jail/jail.h"
#include "jail/result.h"
#include "runtime/living/living_process.h"
#include "runtime/sandbox/alarm.h"
#include "runtime/sandbox/living_request.h"
#include "runtime/sandbox/time_source.h"

namespace runtime {

// Thread-safe. Belongs to the executor of who started it.
class LivingSandbox : public std::enable_shared_from_this<LivingSandbox> {
 public:
  using Time = TimeSource::Time;

  // Why the sandbox ended. `jail`: the jail ended by itself, and its report says why.
  enum class Cause : std::uint8_t { jail, deleted, lifetime, idle, stopping };

  struct Ending {
    Cause cause = Cause::jail;
    jail::ExitReport report{};
    std::chrono::system_clock::time_point at{};
  };
  struct Times {
    Time ends_at;                                     // at the latest
    std::optional<std::chrono::milliseconds> idle{};  // how long nothing may use it; none: for ever
  };

  // Waits until the jail is ready. `on_end` is called once on the executor, when it has ended.
  // Errors: as jail::Jail::advance() and start(), and timed_out.
  static boost::asio::awaitable<jail::Result<std::shared_ptr<LivingSandbox>>> start(
      LivingJail jail, Times times, std::function<void(const Ending&)> on_end);

  LivingSandbox(const LivingSandbox&) = delete;
  LivingSandbox& operator=(const LivingSandbox&) = delete;

  // Whether somebody waits for the end of what goes on.
  enum class Attendance : std::uint8_t { none, awaited };

  // While one is there the sandbox is not idle.
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

  // On the executor of who awaits it, to which the process belongs then. `argv[0]` without a slash
  // is looked up in the PATH of `env` (its first 64 directories within 4 KiB), with one it is
  // relative to the working directory. Errors:
  // invalid, which names what is not there; closed (it has ended, or `cancel` was requested before
  // the process ran); exhausted (as many processes as there may be); kernel.
  boost::asio::awaitable<jail::Result<std::shared_ptr<LivingProcess>>> spawn(ProcessCommand command,
                                                                             Cancel cancel);

  // Those that run and the latest of those that have ended, the oldest first; none once the
  // sandbox has ended.
  std::vector<std::shared_ptr<LivingProcess>> processes() const;
  std::shared_ptr<LivingProcess> find(int pid) const;  // null where there is none
  // Forgets one that has ended, with its output.
  void forget(int pid);
  std::uint32_t running() const;

  // As jail::Jail::open_file(); closed where the sandbox has ended.
  jail::Result<jail::Fd> open_file(std::string_view path, int flags, std::uint32_t mode) const;

  // As jail::Jail::request_socket(); closed where the sandbox has ended or is ending.
  jail::Result<jail::Fd> request_socket(jail::SocketFamily family) const;
  // A place for one connection to a server inside; while it is there the sandbox is not idle. Null:
  // there are as many as there may be, max_port_connections.
  static constexpr std::uint32_t max_port_connections = 64;
  std::shared_ptr<void> take_port_place(Attendance attendance);

  Times times() const;
  void set_times(Times times);
  // Asks it to end; on_end follows. Without effect on one that ends already.
  void end(Cause cause);
  // The same once no process runs any more whose end somebody waits for.
  void end_when_unattended(Cause cause);
  std::optional<Ending> ending() const;  // nothing: it lives
  // Whether its files are all there: they go before its end is known.
  bool is_whole() const;
  // Whether its processes may still be there.
  bool lives() const;
  // Requested when it has ended: what still has files of it open keeps their memory.
  const Cancel& over() const noexcept { return over_; }
  // Until it has ended, at the latest at `deadline`.
  boost::asio::awaitable<void> wait_for_end(Bell::Time deadline) const;

 private:
  LivingSandbox(boost::asio::any_io_executor executor, LivingJail jail, Times times);

  static boost::asio::awaitable<void> drive(std::shared_ptr<LivingSandbox> self,
                                            std::function<void(const Ending&)> on_end);
  boost::asio::awaitable<jail::Result<void>> begin();
  jail::Result<jail::Process> spawn_now(ProcessCommand& command) const;
  jail::Result<std::string> find_program(const ProcessCommand& command) const;
  void add(const std::shared_ptr<LivingProcess>& process);
  void forget_oldest_ended();
  void forget_oldest_ended_locked();
  bool look(Time now);
  bool lives_locked() const;
  void end_now(Cause cause);
  Time next_look() const;
  void wake();

  const boost::asio::any_io_executor executor_;
  const std::shared_ptr<const TimeSource> clock_ = system_time();
  const std::shared_ptr<Alarm> alarm_;
  const std::function<void()> on_given_up_;

  mutable std::mutex mutex_;
  std::optional<jail::Jail> jail_;  // until it has ended
  std::optional<dev_t> disk_;       // where its working directory is
  Times times_;
  std::optional<Cause> ending_;  // since it was told to end
  Time kill_at_ = Time::max();   // where it has not ended by then
  std::optional<Ending> ended_;
  std::optional<Cause> then_;  // why it ends once nothing is awaited
  std::uint32_t uses_ = 0;
  std::uint32_t awaited_ = 0;  // of these
  std::uint32_t port_connections_ = 0;
  Time last_used_;
  std::deque<std::shared_ptr<LivingProcess>> processes_;
  mutable Bells for_its_end_;
  const Cancel over_;
};

}  // namespace runtime
