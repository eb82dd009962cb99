// Living sandboxes: their owners, the operations on them, and how they ended.
#pragma once

#include <atomic>
#include <boost/asio/any_io_executor.hpp>
#include <boost/asio/awaitable.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/asio/strand.hpp>
#include <boost/asio/thread_pool.hpp>
#include <chrono>
#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <variant>
#include <vector>

#include "jail/exit_report.h"
#include "runtime/config/secret.h"
#include "runtime/living/directory_watch.h"
#include "runtime/living/living_process.h"
#include "runtime/living/living_sandbox.h"
#include "runtime/living/port_connection.h"
#include "runtime/living/sandbox_files.h"
#include "runtime/observe/logger.h"
#include "runtime/refusals/refusal.h"
#include "runtime/sandbox/admission.h"
#include "runtime/sandbox/elsewhere.h"
#include "runtime/sandbox/outcome.h"
#include "runtime/sandbox/runner.h"
#include "runtime/service/file_url.h"
#include "runtime/service/port_places.h"
#include "runtime/service/principal.h"
#include "runtime/service/sandbox_disks.h"
#include "runtime/service/sandbox_history.h"
#include "runtime/service/sandbox_requests.h"
#include "runtime/service/url_uses.h"
#include "runtime/service/usage_history.h"
#include "runtime/service/volumes.h"
#include "runtime/service/watch_bounds.h"

namespace runtime {

// A sandbox, alive or ended. Thread-safe.
class Sandbox : public std::enable_shared_from_this<Sandbox> {
 public:
  using Time = std::chrono::system_clock::time_point;

  const std::string& id() const noexcept { return id_; }
  const std::string& owner() const noexcept { return owner_; }
  // The token that opens its ports, and nothing else.
  Secret access_token() const;
  // Requested when this token opens nothing any more; nullopt: it opens nothing.
  std::optional<Cancel> access_by(std::string_view token) const;
  // The request that made it, without its metadata.
  const SandboxRequest& request() const noexcept { return request_; }
  Time created() const noexcept { return created_; }
  std::uint64_t number() const noexcept {
    return number_;
  }  // a later one of the same owner has a higher number
  // Operations that need a living sandbox. Null for one that had ended in an earlier server, or
  // that this one could not bring back.
  const std::shared_ptr<LivingSandbox>& living() const noexcept { return living_; }
  const jail::Enforcement& enforcement() const noexcept { return enforcement_; }

  // Its limits as they are now.
  SandboxLimits limits() const;
  Metadata metadata() const;
  Time ends_at() const;
  std::optional<std::chrono::milliseconds> idle() const;
  // The destinations that it may reach, or might when it ended; empty: none.
  std::vector<std::string> network_rules() const;
  std::vector<SecretName> secret_names() const;  // none once it has ended

  enum class State : std::uint8_t { running, paused, ended };
  State state() const;
  std::optional<Time> paused_since() const;  // nullopt: it is not paused

  struct End {
    Outcome outcome;
    Time at;
  };
  std::optional<End> end() const;  // nullopt: it lives
  // Whether a later server brings it back though it has ended in this one.
  bool comes_back() const noexcept { return comes_back_; }

  // Its files; it must be alive.
  SandboxFiles files() const;
  // As LivingSandbox::usage_target(), with who counts its memory and its disk.
  jail::Result<UsageTarget> usage_target() const;
  // The samples of its usage.
  UsageHistory& usage_history() const noexcept { return usage_history_; }
  // As VolumeMounts::hold(); null where it has no volumes.
  std::shared_ptr<void> hold_volumes() const {
    return volumes_ == nullptr ? nullptr : volumes_->hold();
  }
  // Held while the version of a file is compared and the file is replaced or removed, so that of
  // two requests that want the same version one alone has it.
  std::mutex& file_versions() const noexcept { return file_versions_; }
  // The bounds on watches in it.
  const DirectoryWatch::Bounds& watch_bounds() const noexcept { return watch_bounds_; }

 private:
  friend class Sandboxes;
  Sandbox() = default;
  static std::shared_ptr<Sandbox> of_record(SandboxHistory::Known known);
  SandboxHistory::Known known() const;
  // The volume that has more in it than it may; null: none has.
  const VolumeMounts::One* full_volume() const;
  // The volume that a file could not be written into; null: it was none.
  const VolumeMounts::One* volume_of(const jail::Error& error) const;
  // The disk that a directory of the sandbox is on, where that is one of the host.
  std::shared_ptr<SandboxDisk> disk_of(int directory) const;
  void add_what_brings_it_back(SandboxRecord& record) const;

  std::string id_;
  std::string owner_;
  Secret url_key_;  // signs the URLs of its files, which end with it
  mutable UrlUses url_uses_;
  std::atomic<bool> gives_memory_back_ = false;  // a return of memory that is yet to begin
  SandboxRequest request_;
  Time created_{};
  std::uint64_t number_ = 0;
  jail::Enforcement enforcement_{};
  std::shared_ptr<LivingSandbox> living_;
  std::shared_ptr<SandboxDisk> disk_;      // null: its working directory is memory
  std::shared_ptr<VolumeMounts> volumes_;  // null: it has none
  DirectoryWatch::Bounds watch_bounds_;
  mutable UsageHistory usage_history_;
  mutable std::mutex file_versions_;

  mutable std::mutex mutex_;
  Secret access_token_;
  Cancel access_;  // by that token
  Metadata metadata_;
  SandboxLimits limits_;
  bool has_change_ = false;  // one of its limits or its network is under way
  Bells for_its_changes_;
  std::optional<End> end_;
  Time last_ends_at_{};  // set for a sandbox of an earlier server
  // What earlier servers have given it: its life without pauses, and these.
  std::chrono::milliseconds lived_before_{};
  std::chrono::milliseconds pauses_before_{};
  std::atomic<bool> comes_back_ = false;
};

// Thread-safe. Referenced objects must outlive it, and it must outlive everything that uses it.
class Sandboxes {
 public:
  struct Options {
    std::uint32_t most = 100;                                        // that live at a time
    std::uint32_t max_per_owner = 100;                               // of these, for each owner
    std::chrono::milliseconds max_lifetime{std::chrono::hours(24)};  // not counting pauses
    std::chrono::milliseconds max_paused{std::chrono::hours(24)};
    std::uint32_t max_memory_mb = 2048;                  // bound of requests, for remedies
    double cores = 1;                                    // processor time that each may use
    std::uint32_t max_port_connections = 256;            // of all sandboxes together
    std::uint32_t max_port_connections_per_owner = 256;  // of these, for each owner
    std::string ports_domain = {};                       // of the ports' host names; empty: none
    std::uint32_t max_directory_mb = 0;             // of a disk that is a directory, for remedies
    std::shared_ptr<SandboxDisks> disks = nullptr;  // null: no disk is a directory
    std::shared_ptr<Volumes> volumes = nullptr;     // null: there are none
    SecretGateways::Options secrets = {};           // for the gateways of their secrets
    std::vector<std::string> network = {};          // the egress rules that a request may name
    // The owners that have a key; nullopt: nobody needs one, and everybody sees all sandboxes.
    std::optional<std::set<std::string>> tenants = std::nullopt;
  };

  // Sandboxes of an earlier server are known as ended, but for those that can be brought back.
  Sandboxes(Runner& runner, Logger& logger, SandboxHistory& history, Options options);
  const Options& options() const noexcept { return options_; }
  ~Sandboxes();  // kills those that live

  // Brings back the sandboxes of an earlier server whose working directories are on the host's
  // disk, spread over these executors. Waits for that. To be called once, before anything else is
  // asked, and on a thread of none of the executors.
  void bring_back(const std::vector<boost::asio::any_io_executor>& executors);

  using Found = std::shared_ptr<Sandbox>;
  template <class Answer>
  using Or = std::variant<Answer, Refusal>;

  // Runs on the awaiting executor, to which the sandbox then belongs.
  boost::asio::awaitable<Or<Found>> create(Caller caller, SandboxRequest request);

  // Finds a sandbox by id or by name: of those of one name the one that lives, else the one that
  // was created last. not_found where there is none, or it belongs to another owner.
  Or<Found> find(const Principal& principal, std::string_view id_or_name) const;
  // The same, but it must live: otherwise a conflict that says how it ended.
  Or<Found> find_living(const Principal& principal, std::string_view id_or_name) const;
  // The same for a caller that needs its processes or files: a paused sandbox is resumed, or is a
  // conflict where that is not allowed.
  Or<Found> find_active(const Principal& principal, std::string_view id_or_name) const;

  // Finds it by id or name and by its own access token; the token alone is enough. It must live, as
  // above.
  Or<Found> find_by_token(std::string_view id_or_name, std::string_view token) const;

  // Signs a URL for anybody who gets it, and notes who asked for it.
  std::string sign(const Caller& caller, const Sandbox& sandbox, const FileGrant& grant);
  // Finds it by id alone and by the signature that sign() returned for the same grant; the
  // signature alone is enough: not_found where it is another one, forbidden where it has expired.
  // It must live, as above.
  Or<Found> find_by_signature(std::string_view id, const FileGrant& grant,
                              std::string_view signature) const;

  // Connects to a server in the sandbox, for at most five seconds. The result counts as one of the
  // connections of this sandbox and of all sandboxes as long as its place is held.
  boost::asio::awaitable<Or<PortConnection>> connect(Found sandbox, std::uint16_t port,
                                                     LivingSandbox::Attendance attendance,
                                                     Cancel cancel);

  struct Query {
    std::vector<Sandbox::State> states{};  // a sandbox in any of these states matches; empty: in
                                           // any state
    Metadata metadata{};                   // a sandbox that has all of these matches
    std::uint32_t limit = 50;
    std::uint64_t before = 0;  // Sandbox::number() of the last sandbox of the previous page; 0: the
                               // first page
  };
  struct Page {
    std::vector<Found> sandboxes;  // the newest first
    bool has_more = false;
  };
  Page list(const Principal& principal, const Query& query) const;

  // Changes its limits and then its network, and nothing else where one of them is refused.
  boost::asio::awaitable<std::optional<Refusal>> change(Caller caller, Found sandbox,
                                                        SandboxChange change);

  // Stops everything that runs in it, until it is resumed. Waits until nothing runs any more.
  // Refuses where it has ended, or where its processes cannot be stopped.
  boost::asio::awaitable<std::optional<Refusal>> pause(Caller caller, Found sandbox);
  // Lets its processes go on.
  boost::asio::awaitable<std::optional<Refusal>> resume(Caller caller, Found sandbox);

  // Replaces its access token: the old one opens nothing from now on, and connections that it
  // opened end.
  boost::asio::awaitable<void> renew_token(Caller caller, Found sandbox);

  // Ends it where it lives, and waits for that; forgets it where it has ended.
  boost::asio::awaitable<void> remove(Caller caller, Found sandbox);

  // Starts a process; its environment is that of the sandbox and of the request together. The
  // process is killed where `cancel` is requested before it runs.
  boost::asio::awaitable<Or<std::shared_ptr<LivingProcess>>> start_process(Caller caller,
                                                                           Found sandbox,
                                                                           ProcessRequest request,
                                                                           Cancel cancel);
  // For a caller that has seen the end of a process: if the sandbox ended with it, that is known as
  // well when this returns.
  static boost::asio::awaitable<void> settle(Found sandbox, const LivingProcess& process);
  // not_found where there is none of that number.
  static Or<std::shared_ptr<LivingProcess>> find_process(const Sandbox& sandbox,
                                                         std::string_view pid);
  static Outcome outcome_of_a_server_that_ended();
  // How a process ended.
  Outcome outcome_of_process(const Sandbox& sandbox, const LivingProcess& process,
                             const jail::ExitReport& report) const;

  // Runs work that touches names that a guest may change, which can take a second, on threads of
  // its own; owners take turns. `work` returns a jail::Result. Errors: exhausted without an errno
  // where too much work waits; closed where the sandbox has ended by then, whose files are being
  // removed.
  template <class Work>
  boost::asio::awaitable<std::invoke_result_t<Work&>> do_file_work(const Sandbox& sandbox,
                                                                   Work work) {
    const auto turn = co_await file_turn(sandbox.owner());
    if (!turn) {
      co_return jail::Error{jail::ErrorKind::exhausted, "too much work with files waits", 0, {}};
    }
    auto as_guest = [living = sandbox.living(), held = sandbox.hold_volumes(),
                     work = std::move(work)]() mutable -> std::invoke_result_t<Work&> {
      // What it would change may be another one's by now.
      if (!living->lives()) {
        return jail::Error{jail::ErrorKind::closed, "the sandbox has ended", 0, {}};
      }
      const jail::ActAsOwnerOf acting = living->act_as_guest();
      return work();
    };
    auto done = co_await do_elsewhere(file_workers_.get_executor(), std::move(as_guest));
    if (!sandbox.living()->is_whole()) {
      co_return jail::Error{jail::ErrorKind::closed, "the sandbox has ended", 0, {}};
    }
    co_return done;
  }

  // Notes for the audit that a file or a tree was used: file_read, file_written, file_removed,
  // directory_made, or file_moved to `move_to`.
  void note_file(const Caller& caller, const Sandbox& sandbox, SandboxEventKind kind,
                 std::string_view path, std::string_view move_to = {});
  // The events of an owner's sandboxes, with all that the network has answered until now.
  boost::asio::awaitable<jail::Result<SandboxEventPage>> events(SandboxEventQuery query);
  // News about these events, and about the server's end.
  EventNews& event_news() noexcept { return history_.news(); }
  // Returns whether the server ends and all events of that owner's sandboxes are noted.
  bool is_over_for(std::string_view owner) const;

  // The current usage of a living sandbox. Errors: as do_file_work(); kernel.
  boost::asio::awaitable<jail::Result<SandboxUsage>> usage(Found sandbox);
  // The connections through its proxy, as long as they are known.
  EgressUse egress_use(const Sandbox& sandbox) const { return history_.egress_use(sandbox.id()); }

  // The refusal where a file could not be read, written or examined.
  static Refusal refusal_of_file(const jail::Error& error);
  // The same, and how full the sandbox's disk is where that is the reason.
  static Refusal refusal_of_file(const jail::Error& error, const Sandbox& sandbox);

  // Accepts no more sandboxes, and ends living ones as soon as nobody waits for a process in them.
  void drain();
  // Ends all living sandboxes, waits for that, and accepts no more.
  boost::asio::awaitable<void> stop(std::chrono::milliseconds patience);

 private:
  // They sleep most of the time, since a guest may hold the lock of a file. At most half of them
  // work for one owner.
  static constexpr std::uint32_t file_threads = 4;
  static constexpr std::uint32_t file_threads_of_an_owner = 2;
  static constexpr std::uint32_t max_waiting_file_work = 512;

  // The right to use a thread for work with files, within the owner's bound.
  struct FileTurn {
    Admission::Place of_the_owner;
    Admission::Place of_all;
  };
  // Returns null where too many wait.
  boost::asio::awaitable<std::shared_ptr<FileTurn>> file_turn(std::string owner);
  Admission& file_turns_of(const std::string& owner);
  // `files` go when the process ends.
  boost::asio::awaitable<jail::Result<std::shared_ptr<LivingProcess>>> spawn(
      Caller caller, Found sandbox, ProcessCommand command, std::vector<std::string> files,
      Cancel cancel);
  boost::asio::awaitable<Refusal> refusal_of_start(Found sandbox, jail::Error error, Cancel cancel);
  // How code runs: the command without its file, which is yet to be written, and that file.
  struct Program {
    std::vector<std::string> argv;
    std::vector<std::string> files;  // the program first; the others are made as it runs
  };
  static Or<Program> program_of(const Sandbox& sandbox, const ProcessRequest& request);
  boost::asio::awaitable<std::optional<Refusal>> write_program(Found sandbox, std::string path,
                                                               std::string code);
  boost::asio::awaitable<void> remove_program(Found sandbox, std::vector<std::string> files);
  // As Runner::launch_living(), but waits for a zygote that imports its modules.
  boost::asio::awaitable<jail::Result<LivingJail>> living_jail(LivingRequest wanted);
  std::optional<Refusal> reserve(const Principal& principal, const SandboxRequest& request);
  // A launcher may die while it makes a jail. Nothing of the caller's has run then, so another
  // launcher makes the jail, once.
  boost::asio::awaitable<jail::Result<std::shared_ptr<LivingSandbox>>> launch(
      Found sandbox, const SandboxRequest& request);
  boost::asio::awaitable<bool> has_working_directory(Found sandbox);
  boost::asio::awaitable<std::optional<Refusal>> make_working_directory(Caller caller,
                                                                        Found sandbox);
  Refusal not_started(const jail::Error& error, std::string_view what) const;
  std::optional<Refusal> mount_volumes(const Principal& principal, Sandbox& sandbox,
                                       SandboxRequest& request, SandboxDisks::Room room) const;
  static std::vector<LivingVolume> living_volumes_of(const Sandbox& sandbox);
  void watch_disks(const Sandbox& sandbox);
  static void release_volumes(const Sandbox& sandbox);
  void give_up_disk(const Sandbox& sandbox);
  static Refusal paused_refusal();
  static Refusal ended_refusal(const Sandbox& sandbox);
  // The same for a sandbox that is ending: its outcome is known in a moment.
  static boost::asio::awaitable<Refusal> ending_refusal(Found sandbox);
  static constexpr std::chrono::seconds patience_for_an_end{10};
  LivingSandbox::News news_of(const Found& sandbox, boost::asio::any_io_executor executor);
  boost::asio::awaitable<Refusal> no_change(Found sandbox, jail::Error error);
  // The turn to change its limits and its network, until the result is gone: what one change has
  // been answered with, no other one takes back.
  static boost::asio::awaitable<std::shared_ptr<void>> turn_of_changes(Found sandbox);
  struct ChangeOutcome {
    bool is_made = false;
    std::optional<Refusal> complaint = std::nullopt;  // also where it is made, and not confirmed
  };
  // Changes its limits together with its network, where that is to change: both or neither. To be
  // called in the turn.
  boost::asio::awaitable<ChangeOutcome> change_limits(Found sandbox, SandboxLimitChange change,
                                                      std::optional<SandboxNetwork> network);
  std::optional<Refusal> check_cpu(const std::optional<std::uint32_t>& percent) const;
  std::optional<Refusal> check_limits(const Sandbox& sandbox, const SandboxLimits& wanted) const;
  boost::asio::awaitable<std::optional<Refusal>> check_in_use(Found sandbox, SandboxLimits before,
                                                              SandboxLimits wanted);
  boost::asio::awaitable<ChangeOutcome> set_limits(Found sandbox, SandboxLimits before,
                                                   SandboxLimits wanted);
  static Refusal why_not_resized(const jail::Error& error, const Sandbox& sandbox,
                                 std::uint32_t disk_mb);
  Refusal why_not_set(const jail::Error& error, const Sandbox& sandbox) const;
  boost::asio::awaitable<std::optional<Refusal>> change_network(Found sandbox,
                                                                SandboxNetwork network);
  void on_end(const std::weak_ptr<Sandbox>& weak, const LivingSandbox::Ending& ending);
  void forget_ended_of(const std::string& owner);
  // A sandbox that an earlier server left, and that can be brought back.
  struct Returning {
    Found sandbox;
    std::string disk;                  // the name of its directory
    std::vector<std::string> secrets;  // that are lost
    Sandbox::Time ends_at{};           // its life or, where it is paused, its pause
    std::optional<Sandbox::Time> paused_since{};
    std::chrono::milliseconds left{};  // of its lifetime, where it is paused
    std::string why_it_waits{};        // for a later server; empty: it need not
  };
  void restore();
  void note_ends_of_processes(const Sandbox& sandbox);
  void note_end_of_record(Sandbox& sandbox, Sandbox::End end);
  std::optional<Sandbox::End> end_meanwhile(Returning& how, Sandbox::Time now) const;
  std::optional<std::string> lasting_shortage() const;
  void choose_who_waits();
  boost::asio::awaitable<void> bring_some_back();
  boost::asio::awaitable<void> bring_one_back(Returning how);
  // Returns the rules that were taken.
  std::vector<std::string> take_rules_that_are_not_allowed(Sandbox& sandbox) const;
  void leave_for_later(Sandbox& sandbox, const std::string& why);
  bool comes_back(const Sandbox& sandbox, LivingSandbox::Cause cause) const;
  // It was ended though it had no more on its disks than it may.
  static bool is_ended_for_the_reserve(const Sandbox& sandbox);
  void end_for_good(Sandbox& sandbox, Outcome outcome);
  // Keeps what is known of it, where it lives.
  void keep_living(Sandbox& sandbox);
  // To be awaited before a change is answered: what was answered comes back also after a SIGKILL.
  boost::asio::awaitable<void> written(Found sandbox);
  void note(const Caller& caller, const Sandbox& sandbox, SandboxEventKind kind,
            const SandboxHistory::Detail& detail);
  void note_signed(const Caller& caller, const Sandbox& sandbox, const FileGrant& grant);
  void note_created(const Caller& caller, const Sandbox& sandbox);
  void note_changed(const Caller& caller, const Sandbox& sandbox, const SandboxChange& change);
  void note_started(const Caller& caller, const Sandbox& sandbox, const LivingProcess& process);
  void note_its_end(const Sandbox& sandbox, const LivingProcess& process,
                    const jail::ExitReport& report);
  void note_end(const Sandbox& sandbox, const Outcome& outcome);
  Outcome outcome_of(const Sandbox& sandbox, const LivingSandbox::Ending& ending) const;
  Outcome outcome_of_disk(const Sandbox& sandbox) const;
  static Outcome outcome_of_volume(const VolumeMounts::One& volume);
  Outcome outcome_of_lifetime(std::chrono::milliseconds lived) const;
  static Outcome outcome_of_no_return(const std::string& why);
  static Outcome outcome_of_a_long_pause();
  static Outcome outcome_of_a_delete();
  // Resumes a sandbox whose processes are needed. The refusal says that it stays paused.
  static std::optional<Refusal> resume_on_demand(const Sandbox& sandbox);
  void begin_sampling();
  void sample_later();
  void sample_all();
  void keep_if_the_calendar_was_set();
  void sample_next(std::shared_ptr<std::vector<Found>> left);
  void end_sampling();
  // How far the calendar is ahead of the clock that nobody sets.
  static std::chrono::system_clock::duration calendar_ahead_of_the_clock();
  // Makes the kernel reclaim the memory of a paused sandbox, unless it is resumed first.
  void give_back_memory_of(const std::weak_ptr<Sandbox>& weak);
  static bool sees(const Principal& principal, const Sandbox& sandbox);

  Runner& runner_;
  Logger& logger_;
  SandboxHistory& history_;
  const Options options_;
  const std::shared_ptr<SecretGateways> secret_gateways_;
  WatchBounds watch_bounds_;  // must be used with mutex_ held
  Admission file_turns_{file_threads, max_waiting_file_work};
  std::map<std::string, Admission, std::less<>> file_turns_of_;  // by owner
  boost::asio::thread_pool file_workers_{file_threads};
  boost::asio::strand<boost::asio::thread_pool::executor_type> sampling_{
      file_workers_.get_executor()};
  boost::asio::steady_timer sample_timer_{sampling_};
  bool is_sampling_over_ = false;  // used on the strand alone, as is the next one
  std::chrono::system_clock::duration calendar_ahead_ = calendar_ahead_of_the_clock();
  // A thread that waits for the disk with the swap.
  boost::asio::thread_pool giving_back_{1};
  std::atomic<bool> is_giving_back_over_ = false;

  const std::shared_ptr<PortPlaces> port_places_ =
      PortPlaces::create(options_.max_port_connections, options_.max_port_connections_per_owner);

  mutable std::mutex mutex_;
  std::deque<Found> sandboxes_;  // the oldest first, including ended ones that are still known
  // The owner and name of sandboxes that are being made and are not in `sandboxes_` yet.
  std::vector<std::pair<std::string, std::string>> under_way_;
  std::map<std::string, std::uint64_t, std::less<>> last_numbers_;  // by owner
  std::deque<Returning> returning_;
  bool is_all_known_ = false;  // the records of an earlier server could be read
  bool is_stopping_ = false;
  bool is_sampling_ = false;
};

}  // namespace runtime
