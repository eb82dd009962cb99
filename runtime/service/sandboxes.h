// Sandboxes that live: who has which, what may be asked of them, and what became of them.
#pragma once

#include <atomic>
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
#include "runtime/service/principal.h"
#include "runtime/service/sandbox_history.h"
#include "runtime/service/sandbox_requests.h"
#include "runtime/service/url_uses.h"
#include "runtime/service/usage_history.h"
#include "runtime/service/watch_bounds.h"

namespace runtime {

// A sandbox, alive or ended. Thread-safe.
class Sandbox {
 public:
  using Time = std::chrono::system_clock::time_point;

  const std::string& id() const noexcept { return id_; }
  const std::string& owner() const noexcept { return owner_; }
  // What opens its ports, and nothing else.
  Secret access_token() const;
  // As it was made, without its metadata.
  const SandboxRequest& request() const noexcept { return request_; }
  Time created() const noexcept { return created_; }
  std::uint64_t number() const noexcept {
    return number_;
  }  // a later one of its owner has a higher
  // What is to be asked only where it lives. Null for one of a server that has ended.
  const std::shared_ptr<LivingSandbox>& living() const noexcept { return living_; }
  const jail::Enforcement& enforcement() const noexcept { return enforcement_; }

  Metadata metadata() const;
  Time ends_at() const;
  std::optional<std::chrono::milliseconds> idle() const;
  // What it may reach, or might when it ended; empty: nothing.
  std::vector<std::string> network_rules() const;

  enum class State : std::uint8_t { running, paused, ended };
  State state() const;
  std::optional<Time> paused_since() const;  // nothing: it is not paused

  struct End {
    Outcome outcome;
    Time at;
  };
  std::optional<End> end() const;  // nothing: it lives

  // The files of one that lives.
  SandboxFiles files() const;
  // What it has used.
  UsageHistory& usage_history() const noexcept { return usage_history_; }
  // What may be watched in it.
  const DirectoryWatch::Bounds& watch_bounds() const noexcept { return watch_bounds_; }

 private:
  friend class Sandboxes;
  Sandbox() = default;
  static std::shared_ptr<Sandbox> of_record(SandboxHistory::Known known);
  SandboxHistory::Known known() const;

  std::string id_;
  std::string owner_;
  Secret url_key_;  // of signed URLs of its files, which end with it
  mutable UrlUses url_uses_;
  std::atomic<bool> gives_memory_back_ = false;  // that is yet to begin
  SandboxRequest request_;
  Time created_{};
  std::uint64_t number_ = 0;
  jail::Enforcement enforcement_{};
  std::shared_ptr<LivingSandbox> living_;
  DirectoryWatch::Bounds watch_bounds_;
  mutable UsageHistory usage_history_;

  mutable std::mutex mutex_;
  Secret access_token_;
  Metadata metadata_;
  std::optional<End> end_;
  Time last_ends_at_{};  // of one of an earlier server
};

// Thread-safe. What is passed by reference outlives it, and it outlives what uses it.
class Sandboxes {
 public:
  struct Options {
    std::uint32_t most = 100;                                        // that live at a time
    std::uint32_t max_per_owner = 100;                               // of these
    std::chrono::milliseconds max_lifetime{std::chrono::hours(24)};  // but for pauses
    std::chrono::milliseconds max_paused{std::chrono::hours(24)};
    std::uint32_t max_memory_mb = 2048;        // what requests may ask for, as remedies say
    double cores = 1;                          // of processor time that each may use
    std::uint32_t max_port_connections = 256;  // of all sandboxes together
    std::string ports_domain = {};             // where ports have host names; empty: nowhere
  };

  // Those of an earlier server are known as ended.
  Sandboxes(Runner& runner, Logger& logger, SandboxHistory& history, Options options);
  const Options& options() const noexcept { return options_; }
  ~Sandboxes();  // kills those that live

  using Found = std::shared_ptr<Sandbox>;
  template <class Answer>
  using Or = std::variant<Answer, Refusal>;

  // On the executor of who awaits it, to which the sandbox belongs then.
  boost::asio::awaitable<Or<Found>> create(Caller caller, SandboxRequest request);

  // By id or, of those that live, by name; not_found where there is none, or it is another owner's.
  Or<Found> find(const Principal& principal, std::string_view id_or_name) const;
  // The same, which must live: else a conflict that says how it ended.
  Or<Found> find_living(const Principal& principal, std::string_view id_or_name) const;
  // The same for who needs its processes or files: one that is paused is resumed, or else that is a
  // conflict.
  Or<Found> find_active(const Principal& principal, std::string_view id_or_name) const;

  // By id or name and the sandbox's own access token, whoever shows it. It must live, as above.
  Or<Found> find_by_token(std::string_view id_or_name, std::string_view token) const;

  // Makes a signature for whoever is given the URL, and notes who asked for it.
  std::string sign(const Caller& caller, const Sandbox& sandbox, const FileGrant& grant);
  // By id alone and what sign() returned for the same grant, whoever shows it: not_found where it
  // is another one, forbidden where it has expired. It must live, as above.
  Or<Found> find_by_signature(std::string_view id, const FileGrant& grant,
                              std::string_view signature) const;

  // Connects to a server in the sandbox, at most five seconds long. What is returned counts as one
  // of its connections, and of all sandboxes' together, as long as its place is held.
  boost::asio::awaitable<Or<PortConnection>> connect(Found sandbox, std::uint16_t port,
                                                     LivingSandbox::Attendance attendance,
                                                     Cancel cancel);

  struct Query {
    std::vector<Sandbox::State> states{};  // in one of which it is; empty: in any
    Metadata metadata{};                   // all of which a sandbox has
    std::uint32_t limit = 50;
    std::uint64_t before = 0;  // Sandbox::number() of the last of another page; 0: the first page
  };
  struct Page {
    std::vector<Found> sandboxes;  // the newest first
    bool has_more = false;
  };
  Page list(const Principal& principal, const Query& query) const;

  // Its network is changed first, and nothing else where that is refused.
  boost::asio::awaitable<std::optional<Refusal>> change(Caller caller, Found sandbox,
                                                        SandboxChange change);

  // Stops all that runs in it, until it is resumed. Waits until nothing runs any more; a refusal
  // where it has ended, or its processes cannot be stopped.
  boost::asio::awaitable<std::optional<Refusal>> pause(Caller caller, Found sandbox);
  // Lets it go on.
  boost::asio::awaitable<std::optional<Refusal>> resume(Caller caller, Found sandbox);

  // Makes another access token in place of its own, which opens nothing from now on. Connections
  // that it opened go on.
  void renew_token(const Caller& caller, Sandbox& sandbox);

  // Ends it where it lives, and waits for that; forgets it where it has ended.
  boost::asio::awaitable<void> remove(Caller caller, Found sandbox);

  // Starts a process, whose environment is made from the sandbox's and the request's. It is ended
  // where `cancel` is requested before it runs.
  boost::asio::awaitable<Or<std::shared_ptr<LivingProcess>>> start_process(Caller caller,
                                                                           Found sandbox,
                                                                           ProcessRequest request,
                                                                           Cancel cancel);
  // For who has seen the end of a process: where that was the sandbox's, it is known as well now.
  static boost::asio::awaitable<void> settle(Found sandbox, const LivingProcess& process);
  // not_found where there is none of that number.
  static Or<std::shared_ptr<LivingProcess>> find_process(const Sandbox& sandbox,
                                                         std::string_view pid);
  // How a process ended.
  Outcome outcome_of_process(const Sandbox& sandbox, const LivingProcess& process,
                             const jail::ExitReport& report) const;

  // Does what touches names that a guest may change, which can take it a second: on threads of its
  // own, and owners take turns. `work` returns a jail::Result; exhausted without an errno where too
  // much of it waits; closed where the sandbox has ended by then, whose files go one by one.
  template <class Work>
  boost::asio::awaitable<std::invoke_result_t<Work&>> do_file_work(const Sandbox& sandbox,
                                                                   Work work) {
    const auto turn = co_await file_turn(sandbox.owner());
    if (!turn) {
      co_return jail::Error{jail::ErrorKind::exhausted, "too much work with files waits", 0, {}};
    }
    auto as_guest = [living = sandbox.living(), work = std::move(work)]() mutable {
      const jail::ActAsOwnerOf acting = living->act_as_guest();
      return work();
    };
    auto done = co_await do_elsewhere(file_workers_.get_executor(), std::move(as_guest));
    if (!sandbox.living()->is_whole()) {
      co_return jail::Error{jail::ErrorKind::closed, "the sandbox has ended", 0, {}};
    }
    co_return done;
  }

  // A file or a tree of them was used, for who looks later: file_read, file_written, file_removed,
  // directory_made, or file_moved to `move_to`.
  void note_file(const Caller& caller, const Sandbox& sandbox, SandboxEventKind kind,
                 std::string_view path, std::string_view move_to = {});
  // What happened in the sandboxes of an owner.
  boost::asio::awaitable<jail::Result<SandboxEventPage>> events(SandboxEventQuery query) {
    return history_.events(std::move(query));
  }
  // Of the same, and of the server's end.
  EventNews& event_news() noexcept { return history_.news(); }
  // Whether the server ends and all that will happen to sandboxes of that owner is noted.
  bool is_over_for(std::string_view owner) const;

  // What one that lives uses now. Errors: as do_file_work(); kernel.
  boost::asio::awaitable<jail::Result<SandboxUsage>> usage(Found sandbox);
  // What went through its proxy, as long as it is known.
  EgressUse egress_use(const Sandbox& sandbox) const { return history_.egress_use(sandbox.id()); }

  // Why a file could not be read, written or looked at.
  static Refusal refusal_of_file(const jail::Error& error);
  // The same, and how full the disk of the sandbox is where that is the reason.
  static Refusal refusal_of_file(const jail::Error& error, const Sandbox& sandbox);

  // Takes no more, and ends those that live as soon as nobody waits for a process in them.
  void drain();
  // Ends all that live and waits for it, and takes no more.
  boost::asio::awaitable<void> stop(std::chrono::milliseconds patience);

 private:
  // They sleep most of the time: who holds the lock of a file is a guest. Half of them at most work
  // for one owner.
  static constexpr std::uint32_t file_threads = 4;
  static constexpr std::uint32_t file_threads_of_an_owner = 2;
  static constexpr std::uint32_t max_waiting_file_work = 512;

  // A thread that works with files, of those that the owner may have.
  struct FileTurn {
    Admission::Place of_the_owner;
    Admission::Place of_all;
  };
  // Null: too many wait.
  boost::asio::awaitable<std::shared_ptr<FileTurn>> file_turn(std::string owner);
  Admission& file_turns_of(const std::string& owner);
  boost::asio::awaitable<jail::Result<std::shared_ptr<LivingProcess>>> spawn(Caller caller,
                                                                             Found sandbox,
                                                                             ProcessRequest request,
                                                                             Cancel cancel);
  std::optional<Refusal> reserve(const Principal& principal, const SandboxRequest& request);
  // A launcher may die while it makes a jail. Nothing of the caller's has run then, so another one
  // makes the next, once.
  boost::asio::awaitable<jail::Result<std::shared_ptr<LivingSandbox>>> launch(
      Found sandbox, const SandboxRequest& request);
  Refusal not_started(const jail::Error& error, std::string_view what) const;
  static Refusal paused_refusal();
  static Refusal ended_refusal(const Sandbox& sandbox);
  // The same of one that is ending: how it did is known in a moment.
  static boost::asio::awaitable<Refusal> ending_refusal(Found sandbox);
  static constexpr std::chrono::seconds patience_for_an_end{10};
  LivingSandbox::News news_of(const Found& sandbox);
  boost::asio::awaitable<Refusal> no_change(Found sandbox, jail::Error error);
  boost::asio::awaitable<std::optional<Refusal>> change_network(Found sandbox,
                                                                std::vector<std::string> rules);
  void on_end(const std::weak_ptr<Sandbox>& weak, const LivingSandbox::Ending& ending);
  void forget_ended_of(const std::string& owner);
  void restore();
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
  static Outcome outcome_of_a_server_that_ended();
  // Lets a sandbox go on whose processes are needed. The refusal says that it stays paused.
  static std::optional<Refusal> resume_on_demand(const Sandbox& sandbox);
  void begin_sampling();
  void sample_later();
  void sample_all();
  void sample_next(std::shared_ptr<std::vector<Found>> left);
  void end_sampling();
  // Has the kernel reclaim the memory of a sandbox that was paused, unless it is resumed first.
  void give_back_memory_of(const std::weak_ptr<Sandbox>& weak);
  static bool sees(const Principal& principal, const Sandbox& sandbox);

  Runner& runner_;
  Logger& logger_;
  SandboxHistory& history_;
  const Options options_;
  WatchBounds watch_bounds_;  // with mutex_ held
  Admission file_turns_{file_threads, max_waiting_file_work};
  std::map<std::string, Admission, std::less<>> file_turns_of_;  // of each owner
  boost::asio::thread_pool file_workers_{file_threads};
  boost::asio::strand<boost::asio::thread_pool::executor_type> sampling_{
      file_workers_.get_executor()};
  boost::asio::steady_timer sample_timer_{sampling_};
  bool is_sampling_over_ = false;  // the strand's
  // Waits for the disk that has the swap.
  boost::asio::thread_pool giving_back_{1};
  std::atomic<bool> is_giving_back_over_ = false;

  const std::shared_ptr<std::atomic<std::uint32_t>> port_connections_ =
      std::make_shared<std::atomic<std::uint32_t>>(0);

  mutable std::mutex mutex_;
  std::deque<Found> sandboxes_;  // the oldest first, with those that ended and are still known
  // Those that are being made and are not in `sandboxes_` yet: owner and name.
  std::vector<std::pair<std::string, std::string>> under_way_;
  std::map<std::string, std::uint64_t, std::less<>> last_numbers_;  // of each owner
  bool is_stopping_ = false;
  bool is_sampling_ = false;
};

}  // namespace runtime
