// Sandboxes that live: who has which, what may be asked of them, and what became of them.
#pragma once

#include <boost/asio/awaitable.hpp>
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
#include "runtime/living/living_process.h"
#include "runtime/living/living_sandbox.h"
#include "runtime/living/sandbox_files.h"
#include "runtime/observe/logger.h"
#include "runtime/sandbox/admission.h"
#include "runtime/sandbox/elsewhere.h"
#include "runtime/sandbox/outcome.h"
#include "runtime/sandbox/runner.h"
#include "runtime/service/principal.h"
#include "runtime/service/refusal.h"
#include "runtime/service/sandbox_requests.h"

namespace runtime {

// A sandbox, alive or ended. Thread-safe.
class Sandbox {
 public:
  using Time = std::chrono::system_clock::time_point;

  const std::string& id() const noexcept { return id_; }
  const std::string& owner() const noexcept { return owner_; }
  const SandboxRequest& request() const noexcept { return request_; }  // without its metadata
  Time created() const noexcept { return created_; }
  std::uint64_t number() const noexcept {
    return number_;
  }  // a later one of its owner has a higher
  // What is to be asked only where it lives, or for processes that are kept.
  const std::shared_ptr<LivingSandbox>& living() const noexcept { return living_; }
  const jail::Enforcement& enforcement() const noexcept { return enforcement_; }

  Metadata metadata() const;
  Time ends_at() const { return living_->ends_at(); }
  std::optional<std::chrono::milliseconds> idle() const { return living_->idle(); }

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

 private:
  friend class Sandboxes;
  Sandbox() = default;

  std::string id_;
  std::string owner_;
  SandboxRequest request_;
  Time created_{};
  std::uint64_t number_ = 0;
  jail::Enforcement enforcement_{};
  std::shared_ptr<LivingSandbox> living_;

  mutable std::mutex mutex_;
  Metadata metadata_;
  std::optional<End> end_;
};

// Thread-safe. What is passed by reference outlives it, and it outlives what uses it.
class Sandboxes {
 public:
  struct Options {
    std::uint32_t most = 100;                                         // that live at a time
    std::uint32_t most_of_an_owner = 100;                             // of these
    std::chrono::milliseconds most_lifetime{std::chrono::hours(24)};  // but for pauses
    std::chrono::milliseconds most_paused{std::chrono::hours(24)};
    std::uint32_t most_memory_mb = 2048;  // what requests may ask for, as remedies say
    double cores = 1;                     // of processor time that each may use
  };

  Sandboxes(Runner& runner, Logger& logger, Options options);
  const Options& options() const noexcept { return options_; }
  ~Sandboxes();  // kills those that live

  using Found = std::shared_ptr<Sandbox>;
  template <class Answer>
  using Or = std::variant<Answer, Refusal>;

  // On the executor of who awaits it, to which the sandbox belongs then.
  boost::asio::awaitable<Or<Found>> create(const Principal& principal, SandboxRequest request);

  // By id or, of those that live, by name; not_found where there is none, or it is another owner's.
  Or<Found> find(const Principal& principal, std::string_view id_or_name) const;
  // The same, which must live: else a conflict that says how it ended.
  Or<Found> find_living(const Principal& principal, std::string_view id_or_name) const;
  // The same for who needs its processes or files: one that is paused is resumed, or else that is a
  // conflict.
  Or<Found> find_active(const Principal& principal, std::string_view id_or_name) const;

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

  void change(Sandbox& sandbox, SandboxChange change);

  // Stops all that runs in it, until it is resumed. Waits until nothing runs any more; a refusal
  // where it has ended, or its processes cannot be stopped.
  boost::asio::awaitable<std::optional<Refusal>> pause(Found sandbox);
  // Lets it go on.
  boost::asio::awaitable<std::optional<Refusal>> resume(Found sandbox);

  // Ends it where it lives, and waits for that; forgets it where it has ended.
  boost::asio::awaitable<void> remove(Found sandbox);

  // Starts a process, whose environment is made from the sandbox's and the request's. It is ended
  // where `cancel` is requested before it runs.
  boost::asio::awaitable<Or<std::shared_ptr<LivingProcess>>> start_process(Found sandbox,
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
    auto done = co_await do_elsewhere(file_workers_.get_executor(), std::move(work));
    if (!sandbox.living()->is_whole()) {
      co_return jail::Error{jail::ErrorKind::closed, "the sandbox has ended", 0, {}};
    }
    co_return done;
  }

  // Why a file could not be read, written or looked at.
  static Refusal refusal_of_file(const jail::Error& error);

  // Takes no more, and ends those that live as soon as nobody waits for a process in them.
  void drain();
  // Ends all that live and waits for it, and takes no more.
  boost::asio::awaitable<void> stop(std::chrono::milliseconds patience);

 private:
  static constexpr std::uint32_t file_threads = 2;
  static constexpr std::uint32_t most_waiting_file_work = 512;

  boost::asio::awaitable<std::shared_ptr<Admission::Place>> file_turn(std::string owner);
  std::optional<Refusal> reserve(const Principal& principal, const SandboxRequest& request);
  void release(const std::string& owner);
  Refusal not_started(const jail::Error& error, std::string_view what) const;
  LivingSandbox::News news_of(const Found& sandbox);
  boost::asio::awaitable<Refusal> no_change(Found sandbox, jail::Error error);
  void on_end(const std::weak_ptr<Sandbox>& weak, const LivingSandbox::Ending& ending);
  void forget_ended_of(const std::string& owner);
  Outcome outcome_of(const Sandbox& sandbox, const LivingSandbox::Ending& ending) const;
  static bool sees(const Principal& principal, const Sandbox& sandbox);

  Runner& runner_;
  Logger& logger_;
  const Options options_;
  Admission file_turns_{file_threads, most_waiting_file_work};
  boost::asio::thread_pool file_workers_{file_threads};

  mutable std::mutex mutex_;
  std::deque<Found> sandboxes_;  // the oldest first, with those that ended and are still known
  // Those that are being made and are not in `sandboxes_` yet: owner and name.
  std::vector<std::pair<std::string, std::string>> under_way_;
  std::map<std::string, std::uint64_t, std::less<>> last_numbers_;  // of each owner
  bool is_stopping_ = false;
};

}  // namespace runtime
