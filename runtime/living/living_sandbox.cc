#include "runtime/living/living_sandbox.h"

#include <fcntl.h>
#include <poll.h>
#include <sys/stat.h>

#include <algorithm>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/detached.hpp>
#include <boost/asio/post.hpp>
#include <boost/asio/this_coro.hpp>
#include <utility>

#include "runtime/sandbox/jail_handle.h"

namespace runtime {
namespace {

namespace asio = boost::asio;
using jail::Error;
using jail::ErrorKind;
using jail::Result;

constexpr std::chrono::seconds patience_for_a_jail{10};
// How often the launcher is checked for life while the jail is being made.
constexpr std::chrono::milliseconds look_at_launcher{100};
// Init ends a jail by itself when it is asked to. After this time its owner no longer relies on
// that.
constexpr std::chrono::seconds grace{2};
// A sandbox with less time to live is not paused.
constexpr std::chrono::seconds shortest_life{1};
constexpr std::size_t kept_ended_processes = 32;

// The disk that the working directory is on; std::nullopt once its mount is gone.
std::optional<dev_t> disk_of(const jail::Jail& jail) {
  const auto directory = jail.open_file("/workspace", O_PATH | O_DIRECTORY);
  struct stat status {};
  if (!directory || ::fstat(directory->get(), &status) != 0) return std::nullopt;
  return status.st_dev;
}

}  // namespace

Error LivingSandbox::has_ended_error() {
  return {ErrorKind::closed, "the sandbox has ended", 0, {}};
}

LivingSandbox::LivingSandbox(asio::any_io_executor executor, LivingJail jail, Times times,
                             Pausing pausing, News news, std::shared_ptr<SecretGateways> gateways)
    : executor_(std::move(executor)),
      alarm_(Alarm::create(executor_, *clock_, Cancel())),
      on_given_up_(std::move(jail.on_given_up)),
      egress_(std::move(jail.egress)),
      network_label_(jail.network.label),
      gateways_(std::move(gateways)),
      language_(jail.language),
      zygote_(std::move(jail.zygote)),
      times_(times),
      pausing_(pausing),
      news_(std::move(news)),
      jail_(std::make_shared<jail::Jail>(std::move(jail.jail))),
      idle_(times.idle),
      last_used_(began_) {
  set_end(began_ + times.lifetime);
}

asio::awaitable<Result<std::shared_ptr<LivingSandbox>>> LivingSandbox::start(
    LivingJail jail, Times times, Pausing pausing, News news, Secrets secrets) {
  std::vector<std::string> rules = jail.network.rules;
  const auto launcher = jail.launcher;
  const std::shared_ptr<LivingSandbox> self(
      new LivingSandbox(co_await asio::this_coro::executor, std::move(jail), times, pausing,
                        std::move(news), std::move(secrets.gateways)));
  auto begun = co_await self->begin(*launcher);
  if (begun && !rules.empty()) {
    begun = co_await self->set_network(std::move(rules), std::move(secrets.secrets));
  }
  if (!begun) {
    self->way_out_.reset();
    self->close_gateway_locked();
    self->jail_.reset();
    self->on_given_up_();
    co_return begun.error();
  }
  asio::co_spawn(self->executor_, drive(self), asio::detached);
  co_return self;
}

asio::awaitable<Result<void>> LivingSandbox::begin(const jail::Launcher& launcher) {
  const Alarm::Watch control(*alarm_, jail_->control_fd());
  const Time deadline = clock_->now() + patience_for_a_jail;
  bool is_started = false;
  for (;;) {
    // Messages that the launcher sent before it ended are read below.
    const bool launcher_has_ended = has_ended(launcher);
    const auto phase = jail_->advance();
    if (!phase) co_return phase.error();
    if (*phase == jail::Phase::ended) {
      co_return Error{ErrorKind::kernel, "the jail ended before it was ready", 0, {}};
    }
    if (*phase == jail::Phase::ready && !is_started) {
      if (auto started = jail_->start(); !started) co_return started;
      is_started = true;
    }
    // Processes can be spawned once init's descriptor has come as well.
    if (is_started && jail_->process_fd() >= 0) {
      disk_ = disk_of(*jail_);
      co_return Result<void>();
    }
    if (launcher_has_ended && jail_->process_fd() < 0) {
      co_return Error{ErrorKind::closed, "make a jail: its launcher has ended", 0, {}};
    }
    if (clock_->now() >= deadline) {
      co_return Error{ErrorKind::timed_out, "the jail was not ready in time", 0, {}};
    }
    alarm_->set_deadline(std::min(deadline, clock_->now() + look_at_launcher));
    co_await alarm_->wait();
  }
}

asio::awaitable<void> LivingSandbox::drive(std::shared_ptr<LivingSandbox> self) {
  {
    const Alarm::Watch control(*self->alarm_, self->jail_->control_fd());
    while (self->look(self->clock_->now())) {
      self->alarm_->set_deadline(self->next_look());
      co_await self->alarm_->wait();
    }
  }
  {
    // Another jail may have its network soon.
    const std::lock_guard lock(self->mutex_);
    self->close_gateway_locked();
  }
  co_await self->see_processes_end();
  Ending ending;
  {
    const std::lock_guard lock(self->mutex_);
    ending.cause = self->ending_.value_or(Cause::jail);
    if (self->jail_->phase() == jail::Phase::ended) ending.report = self->jail_->report();
    ending.at = std::chrono::system_clock::now();
    self->jail_.reset();
    self->way_out_.reset();
    self->close_gateway_locked();  // a change that was under way may have opened one
    self->latest_output_ = self->latest_output();
    for (const auto& process : self->processes_) process->close_output();
    self->processes_.clear();
    self->pause_.reset();
    self->for_its_pause_.ring();
    self->for_its_limits_.ring();
  }
  self->on_given_up_();
  self->over_.request();
  self->news_.on_end(ending);
  // Callers that wait for the end find it recorded elsewhere, too.
  const std::lock_guard lock(self->mutex_);
  self->ended_ = ending;
  self->for_its_end_.ring();
}

// Takes note of what happened, and pauses or ends the jail where that is due. Returns false where
// it has ended.
bool LivingSandbox::look(Time now) {
  const std::lock_guard lock(mutex_);
  const auto phase = jail_->advance();
  if (!phase || *phase == jail::Phase::ended) return false;
  note_activity(now);
  if (jail_->limits_hold()) for_its_limits_.ring();
  if (!ending_) {
    const auto cause = due(now);
    // A limit of the whole jail can only be followed by its end, not by a pause.
    const bool has_more = now + shortest_life < last_end();
    const bool may_pause = cause == Cause::lifetime ? has_more : cause == Cause::idle;
    if (cause && may_pause && pausing_.in_place_of_end) {
      begin_pause(cause, now);
    } else {
      ending_ = cause;
    }
  }
  if (ending_ && kill_at_ == Time::max()) {
    jail_->cancel();
    kill_at_ = now + grace;
    for_its_pause_.ring();
  }
  if (now < kill_at_) return true;
  jail_->kill(jail::Ended::cancelled);
  return false;
}

// The reason for which the sandbox is to be ended, or paused instead.
std::optional<LivingSandbox::Cause> LivingSandbox::due(Time now) const {
  if (pause_) {
    if (pause_->began && now >= end_) return Cause::pause;
    return std::nullopt;
  }
  if (now >= end_) return Cause::lifetime;
  if (idle_ && uses_ == 0 && now >= last_used_ + *idle_) return Cause::idle;
  return std::nullopt;
}

LivingSandbox::Time LivingSandbox::next_look() const {
  const std::lock_guard lock(mutex_);
  if (ending_) return kill_at_;
  if (pause_) return pause_->began ? end_ : pause_->give_up_at;
  Time next = end_;
  if (idle_ && uses_ == 0) next = std::min(next, last_used_ + *idle_);
  return next;
}

void LivingSandbox::wake() {
  asio::post(executor_, [self = shared_from_this()] { self->alarm_->wake(); });
}

LivingSandbox::Use::Use(std::shared_ptr<LivingSandbox> sandbox, Attendance attendance)
    : sandbox_(std::move(sandbox)), attendance_(attendance) {
  const std::lock_guard lock(sandbox_->mutex_);
  ++sandbox_->uses_;
  if (attendance_ == Attendance::awaited) ++sandbox_->awaited_;
}

LivingSandbox::Use::~Use() {
  if (sandbox_ == nullptr) return;
  const std::lock_guard lock(sandbox_->mutex_);
  --sandbox_->uses_;
  if (attendance_ == Attendance::awaited && --sandbox_->awaited_ == 0 && sandbox_->then_) {
    sandbox_->end_now(*sandbox_->then_);
  }
  sandbox_->last_used_ = sandbox_->clock_->now();
  if (sandbox_->idle_ && !sandbox_->ended_) sandbox_->wake();
}

void LivingSandbox::add(const std::shared_ptr<LivingProcess>& process) {
  const std::lock_guard lock(mutex_);
  // The kernel reuses a process's number once the process is gone.
  std::erase_if(processes_, [&](const auto& other) {
    if (other->pid() != process->pid()) return false;
    other->close_output();
    return true;
  });
  processes_.push_back(process);
  forget_oldest_ended_locked();
}

void LivingSandbox::forget_oldest_ended() {
  const std::lock_guard lock(mutex_);
  forget_oldest_ended_locked();
}

void LivingSandbox::forget_oldest_ended_locked() {
  std::vector<std::pair<LivingProcess::Time, int>> ended;
  for (const auto& process : processes_) {
    const LivingProcess::State state = process->state();
    if (state.has_ended) ended.emplace_back(state.ended_at, process->pid());
  }
  if (ended.size() <= kept_ended_processes) return;
  std::sort(ended.begin(), ended.end());
  ended.resize(ended.size() - kept_ended_processes);
  for (const auto& [at, pid] : ended) forget_locked(pid);
}

std::vector<std::shared_ptr<LivingProcess>> LivingSandbox::processes() const {
  const std::lock_guard lock(mutex_);
  return {processes_.begin(), processes_.end()};
}

std::shared_ptr<LivingProcess> LivingSandbox::find(int pid) const {
  const std::lock_guard lock(mutex_);
  for (const auto& process : processes_) {
    if (process->pid() == pid) return process;
  }
  return nullptr;
}

void LivingSandbox::forget(int pid) {
  const std::lock_guard lock(mutex_);
  forget_locked(pid);
}

void LivingSandbox::forget_locked(int pid) {
  std::erase_if(processes_, [&](const auto& process) {
    if (process->pid() != pid || !process->state().has_ended) return false;
    process->close_output();
    return true;
  });
}

std::uint32_t LivingSandbox::running() const {
  const std::lock_guard lock(mutex_);
  return static_cast<std::uint32_t>(
      std::count_if(processes_.begin(), processes_.end(),
                    [](const auto& process) { return !process->state().has_ended; }));
}

jail::ActAsOwnerOf LivingSandbox::act_as_guest() const {
  const std::lock_guard lock(mutex_);
  return jail::ActAsOwnerOf(jail_ ? jail_->working_directory_fd() : -1);
}

Result<jail::Fd> LivingSandbox::open_file(std::string_view path, int flags,
                                          std::uint32_t mode) const {
  std::shared_ptr<const jail::Jail> jail;
  {
    const std::lock_guard lock(mutex_);
    if (!jail_) return has_ended_error();
    jail = jail_;
  }
  // Called without the lock: the call waits for locks that a guest can hold, and others need ours
  // meanwhile.
  return jail->open_file(path, flags, mode);
}

Result<jail::Fd> LivingSandbox::request_socket(jail::SocketFamily family) const {
  const std::lock_guard lock(mutex_);
  if (!jail_ || ending_) return has_ended_error();
  return jail_->request_socket(family);
}

Result<UsageTarget> LivingSandbox::usage_target() const {
  const std::lock_guard lock(mutex_);
  if (!jail_ || ending_) return has_ended_error();
  auto workspace = jail_->open_file("/workspace", O_PATH | O_DIRECTORY);
  auto tmp = jail_->open_file("/tmp", O_PATH | O_DIRECTORY);
  if (!workspace || !tmp) return has_ended_error();
  jail::Fd init(::fcntl(jail_->process_fd(), F_DUPFD_CLOEXEC, 0));
  if (!init.valid()) return Error{ErrorKind::exhausted, "look at a sandbox", errno, {}};
  UsageTarget target;
  target.init = std::move(init);
  target.workspace = std::move(*workspace);
  target.tmp = std::move(*tmp);
  return target;
}

std::shared_ptr<void> LivingSandbox::take_port_place(Attendance attendance) {
  const auto self = shared_from_this();
  {
    const std::lock_guard lock(mutex_);
    if (port_connections_ >= max_port_connections) return nullptr;
    ++port_connections_;
  }
  const auto give_back = [self](const Use* use) {
    delete use;
    const std::lock_guard lock(self->mutex_);
    --self->port_connections_;
  };
  return std::shared_ptr<Use>(new Use(self, attendance), give_back);
}

std::chrono::system_clock::time_point LivingSandbox::ends_at() const {
  const std::lock_guard lock(mutex_);
  return end_by_calendar();
}

// The calendar may have been set. A smaller difference is that of two readings of the clocks.
std::chrono::system_clock::time_point LivingSandbox::end_by_calendar() const {
  constexpr std::chrono::seconds a_jump{1};
  const auto now = std::chrono::system_clock::now();
  const auto end =
      now + std::chrono::duration_cast<std::chrono::system_clock::duration>(end_ - clock_->now());
  if (std::chrono::abs(end - ends_at_) >= a_jump) ends_at_ = end;
  return ends_at_;
}

std::chrono::milliseconds LivingSandbox::lifetime() const {
  const std::lock_guard lock(mutex_);
  return std::chrono::duration_cast<std::chrono::milliseconds>(end_ - began_) - all_pauses_;
}

void LivingSandbox::set_lifetime(std::chrono::milliseconds time) {
  const std::lock_guard lock(mutex_);
  if (pause_ && pause_->began) {
    pause_->left = time;
    return;
  }
  set_end(clock_->now() + time);
  wake();
}

std::optional<std::chrono::milliseconds> LivingSandbox::idle() const {
  const std::lock_guard lock(mutex_);
  return idle_;
}

void LivingSandbox::set_idle(std::optional<std::chrono::milliseconds> idle) {
  const std::lock_guard lock(mutex_);
  idle_ = idle;
  wake();
}

// The jail has a limit of its own, which counts from its start, without pauses.
LivingSandbox::Time LivingSandbox::last_end() const {
  return began_ + all_pauses_ + times_.max_lifetime;
}

void LivingSandbox::set_end(Time at) {
  end_ = pause_ && pause_->began ? at : std::min(at, last_end());
  ends_at_ = std::chrono::system_clock::now() +
             std::chrono::duration_cast<std::chrono::system_clock::duration>(end_ - clock_->now());
}

void LivingSandbox::set_end_by_calendar(std::chrono::system_clock::time_point at) {
  const Time end = clock_->now() + std::chrono::duration_cast<Time::duration>(
                                       at - std::chrono::system_clock::now());
  set_end(end);
  if (end_ == end) ends_at_ = at;
}

void LivingSandbox::set_ends_at(std::chrono::system_clock::time_point at) {
  const std::lock_guard lock(mutex_);
  set_end_by_calendar(at);
  wake();
}

void LivingSandbox::end(Cause cause) {
  const std::lock_guard lock(mutex_);
  end_now(cause);
}

void LivingSandbox::end_when_unattended(Cause cause) {
  const std::lock_guard lock(mutex_);
  then_ = cause;
  // The end of a paused process would never come.
  if (awaited_ == 0 || pause_) end_now(cause);
}

void LivingSandbox::end_now(Cause cause) {
  if (ending_ || ended_) return;
  ending_ = cause;
  wake();
}

bool LivingSandbox::is_whole() const {
  const std::lock_guard lock(mutex_);
  // The kernel takes the mounts apart before it reports that init is gone.
  return lives_locked() && disk_of(*jail_) == disk_;
}

bool LivingSandbox::lives() const {
  const std::lock_guard lock(mutex_);
  return lives_locked();
}

bool LivingSandbox::lives_locked() const {
  if (!jail_ || ending_) return false;
  pollfd init{.fd = jail_->process_fd(), .events = POLLIN, .revents = 0};
  return ::poll(&init, 1, 0) == 0;
}

std::optional<LivingSandbox::Ending> LivingSandbox::ending() const {
  const std::lock_guard lock(mutex_);
  return ended_;
}

std::optional<LivingSandbox::Cause> LivingSandbox::cause_of_end() const {
  const std::lock_guard lock(mutex_);
  return ending_;
}

asio::awaitable<void> LivingSandbox::wait_for_end(Bell::Time deadline) const {
  co_await for_its_end_.wait(mutex_, deadline, [this] { return ended_.has_value(); });
}

}  // namespace runtime
