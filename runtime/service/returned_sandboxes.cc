// Sandboxes of an earlier server: those whose working directory is on the host's disk are brought
// back, and the others are known as ended.
#include <algorithm>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/post.hpp>
#include <boost/asio/use_future.hpp>
#include <future>
#include <map>
#include <thread>
#include <utility>

#include "jail/egress.h"
#include "runtime/sandbox/jail_handle.h"
#include "runtime/service/result_json.h"
#include "runtime/service/sandbox_json.h"
#include "runtime/service/sandboxes.h"

namespace runtime {
namespace {

namespace asio = boost::asio;

// How many jails each executor makes at a time: one is made while another one becomes ready.
constexpr int jails_at_a_time = 4;
// A sandbox with less time to live than this is not brought back.
constexpr std::chrono::seconds min_lifetime{1};
// What the last server had no time to remove may be what the disk lacks.
constexpr std::chrono::seconds patience_for_room{2};
constexpr std::chrono::milliseconds pause_between_looks{50};

std::chrono::milliseconds between(Sandbox::Time from, Sandbox::Time to) {
  return std::chrono::duration_cast<std::chrono::milliseconds>(to - from);
}

// The reason why no jail could be made, for the owner of the sandbox.
std::string why_not_made(const jail::Error& error) {
  if (error.kind == jail::ErrorKind::invalid) return error.doing;
  if (is_shortage(error) || error.kind == jail::ErrorKind::exhausted) {
    return "the host had no room for it";
  }
  if (error.kind == jail::ErrorKind::timed_out) return "its jail was not ready in time";
  return "the server's log has the reason";
}

void write_texts(json::Writer& writer, std::string_view name,
                 const std::vector<std::string>& texts) {
  writer.key(name).begin_array();
  for (const std::string& text : texts) writer.string(text);
  writer.end_array();
}

}  // namespace

// A sandbox whose record says that it lives was left by a server that has ended, since nobody else
// can hold the file.
void Sandboxes::restore() {
  auto known = history_.load();
  if (!known) {
    logger_.error("what was kept of sandboxes cannot be read",
                  {{"error", known.error().message()}});
    return;
  }
  is_all_known_ = history_.unreadable() == 0;
  if (!is_all_known_) {
    logger_.warning("records of sandboxes cannot be read; the directories of these are kept",
                    {{"sandboxes", static_cast<std::int64_t>(history_.unreadable())}});
  }
  std::int64_t cut_short = 0;
  for (SandboxHistory::Known& each : *known) {
    const bool has_ended = each.record.outcome.has_value();
    Returning how{.sandbox = nullptr,
                  .disk = each.record.disk,
                  .secrets = each.record.secrets,
                  .ends_at = Sandbox::Time(each.record.ends_at),
                  .paused_since = {},
                  .left = each.record.left,
                  .why_it_waits = {}};
    if (each.record.paused_since) how.paused_since = Sandbox::Time(*each.record.paused_since);
    const Found sandbox = Sandbox::of_record(std::move(each));
    std::uint64_t& last = last_numbers_[sandbox->owner()];
    last = std::max(last, sandbox->number());
    sandboxes_.push_back(sandbox);
    if (has_ended) continue;
    note_ends_of_processes(*sandbox);
    how.sandbox = sandbox;
    const auto now = std::chrono::system_clock::now();
    auto end = end_meanwhile(how, now);
    if (how.disk.empty()) end = Sandbox::End{outcome_of_a_server_that_ended(), now};
    if (end) {
      ++cut_short;
      note_end_of_record(*sandbox, std::move(*end));
    } else {
      returning_.push_back(std::move(how));
    }
  }
  if (cut_short > 0) {
    logger_.warning("sandboxes of a server that ended before them are known as ended",
                    {{"sandboxes", cut_short}});
  }
}

// A server that was killed has noted no ends.
void Sandboxes::note_ends_of_processes(const Sandbox& sandbox) {
  const auto pids = history_.processes_without_end(sandbox.id());
  if (!pids) return;
  for (const std::int64_t pid : *pids) {
    history_.note(sandbox.owner(), sandbox.id(), SandboxEventKind::process_ended, nullptr,
                  [&](json::Writer& writer) {
                    writer.key("pid").integer(pid).key("outcome");
                    write_outcome(writer, outcome_of_a_server_that_ended(), sandbox_limits);
                  });
  }
}

void Sandboxes::note_end_of_record(Sandbox& sandbox, Sandbox::End end) {
  sandbox.end_ = std::move(end);
  history_.keep(sandbox.known());
  note_end(sandbox, sandbox.end_->outcome);
}

// Its clocks went on while no server was there; they stand while it is paused, but for the one
// that says how long it is kept so. Returns how it ended meanwhile; std::nullopt: it did not.
std::optional<Sandbox::End> Sandboxes::end_meanwhile(Returning& how, Sandbox::Time now) const {
  Sandbox& sandbox = *how.sandbox;
  const auto lived_at = [&sandbox](Sandbox::Time at) {
    return between(sandbox.created_, at) - sandbox.pauses_before_;
  };
  if (!how.paused_since && now >= how.ends_at) {
    const std::chrono::milliseconds lived = lived_at(how.ends_at);
    const bool may_pause = lived + min_lifetime < options_.max_lifetime;
    if (!sandbox.request_.pauses_at_its_end || !may_pause) {
      return Sandbox::End{outcome_of_lifetime(lived), how.ends_at};
    }
    how.paused_since = how.ends_at;
    how.left = std::chrono::milliseconds(0);
    how.ends_at += options_.max_paused;
  }
  if (how.paused_since && now >= how.ends_at) {
    return Sandbox::End{outcome_of_a_long_pause(), how.ends_at};
  }
  sandbox.lived_before_ = lived_at(how.paused_since.value_or(now));
  if (sandbox.lived_before_ + min_lifetime < options_.max_lifetime) return std::nullopt;
  return Sandbox::End{outcome_of_lifetime(sandbox.lived_before_), now};
}

void Sandboxes::bring_back(const std::vector<asio::any_io_executor>& executors) {
  const std::size_t known = returning_.size();
  std::set<std::string, std::less<>> disks;
  for (const Returning& how : returning_) disks.insert(how.disk);
  if (options_.disks != nullptr && options_.disks->are_kept() && is_all_known_) {
    options_.disks->give_up_others(disks);
  }
  choose_who_waits();
  std::vector<std::future<void>> all;
  if (known > 0) {
    for (const auto& executor : executors) {
      for (int i = 0; i < jails_at_a_time; ++i) {
        all.push_back(asio::co_spawn(executor, bring_some_back(), asio::use_future));
      }
    }
  }
  for (auto& each : all) each.get();
  if (known == 0) return;
  const std::lock_guard lock(mutex_);
  begin_sampling();
  const auto living = std::count_if(sandboxes_.begin(), sandboxes_.end(),
                                    [](const Found& sandbox) { return !sandbox->end(); });
  logger_.info("sandboxes of an earlier server are brought back",
               {{"sandboxes", std::int64_t{living}},
                {"not_restarted", static_cast<std::int64_t>(known) - std::int64_t{living}}});
}

std::optional<std::string> Sandboxes::lasting_shortage() const {
  const auto deadline = std::chrono::steady_clock::now() + patience_for_room;
  for (;;) {
    auto shortage = options_.disks->shortage();
    if (!shortage || std::chrono::steady_clock::now() >= deadline) return shortage;
    std::this_thread::sleep_for(pause_between_looks);
  }
}

// The operator may allow less than before, and the host may have less room. The oldest come back
// first.
void Sandboxes::choose_who_waits() {
  if (returning_.empty() || options_.disks == nullptr || !options_.disks->are_kept()) return;
  const auto shortage = lasting_shortage();
  if (shortage) {
    logger_.warning("no sandbox of an earlier server is brought back", {{"reason", *shortage}});
  }
  std::uint32_t all = 0;
  std::map<std::string, std::uint32_t, std::less<>> of_owners;
  const auto why = [&](const Sandbox& sandbox) -> std::string {
    const SandboxRequest& request = sandbox.request();
    if (options_.tenants && !options_.tenants->contains(sandbox.owner())) {
      return "none of API_KEYS is its owner's";
    }
    if (shortage) return *shortage;
    if (request.memory_mb > options_.max_memory_mb) {
      return "its memory_mb is above ceilings.memory_limit_mb";
    }
    if (request.disk_mb > options_.max_directory_mb) {
      return "its disk_mb is above SANDBOX_MAX_DISK_MB";
    }
    if (all >= options_.most) return "as many others live as SANDBOX_MAX_LIVING allows";
    if (of_owners[sandbox.owner()] >= options_.max_per_owner) {
      return "as many others of its owner live as SANDBOX_MAX_LIVING allows for one of several";
    }
    return {};
  };
  for (Returning& how : returning_) {
    how.why_it_waits = why(*how.sandbox);
    if (!how.why_it_waits.empty()) continue;
    ++all;
    ++of_owners[how.sandbox->owner()];
  }
}

asio::awaitable<void> Sandboxes::bring_some_back() {
  for (;;) {
    Returning next;
    {
      const std::lock_guard lock(mutex_);
      if (returning_.empty()) co_return;
      next = std::move(returning_.front());
      returning_.pop_front();
    }
    co_await bring_one_back(std::move(next));
  }
}

asio::awaitable<void> Sandboxes::bring_one_back(Returning how) {
  const Found sandbox = how.sandbox;
  if (options_.disks == nullptr || !options_.disks->are_kept()) {
    leave_for_later(*sandbox, "SANDBOX_DISK_PATH is not set");
    co_return;
  }
  auto disk = options_.disks->take(how.disk, std::uint64_t{sandbox->request_.disk_mb} << 20);
  if (!disk) {
    logger_.error("the directory of a sandbox cannot be used",
                  {{"sandbox_id", sandbox->id()}, {"error", disk.error().message()}});
    leave_for_later(*sandbox, "its directory is not in SANDBOX_DISK_PATH");
    co_return;
  }
  sandbox->disk_ = std::move(*disk);
  if (!how.why_it_waits.empty()) {
    leave_for_later(*sandbox, how.why_it_waits);
    co_return;
  }
  // With a key, whichever it is, an owner sees what is its own.
  const Principal owner{.tenant = sandbox->owner(), .key = 0, .allowed = Scopes::all()};
  if (const auto refusal =
          mount_volumes(owner, *sandbox, sandbox->request_, SandboxDisks::Room::as_before)) {
    leave_for_later(*sandbox, refusal->detail);
    co_return;
  }
  const std::vector<std::string> lost = take_rules_that_are_not_allowed(*sandbox);
  auto living = co_await launch(sandbox, sandbox->request_);
  if (!living) {
    release_volumes(*sandbox);
    logger_.error("a sandbox could not be brought back",
                  {{"sandbox_id", sandbox->id()}, {"error", living.error().message()}});
    leave_for_later(*sandbox, why_not_made(living.error()));
    co_return;
  }
  {
    const std::lock_guard lock(mutex_);
    sandbox->enforcement_ = runner_.state().enforcement;
    sandbox->living_ = std::move(*living);
    sandbox->watch_bounds_ = watch_bounds_.of_a_sandbox(sandbox->owner_);
    watch_disks(*sandbox);
  }
  // It may have been in /tmp.
  (void)co_await has_working_directory(sandbox);
  history_.note(sandbox->owner(), sandbox->id(), SandboxEventKind::restarted, nullptr,
                [&](json::Writer& writer) {
                  write_texts(writer, "lost_secrets", how.secrets);
                  write_texts(writer, "lost_network", lost);
                });
  if (how.paused_since) {
    const auto paused = co_await sandbox->living_->pause();
    if (paused) sandbox->living_->go_on_with_pause(*how.paused_since, how.ends_at, how.left);
  } else {
    sandbox->living_->set_ends_at(how.ends_at);
  }
  keep_living(*sandbox);
}

// The operator may allow less than before.
std::vector<std::string> Sandboxes::take_rules_that_are_not_allowed(Sandbox& sandbox) const {
  std::vector<std::string> allowed;
  std::vector<std::string> lost;
  for (const std::string& rule : sandbox.request_.network.network.rules) {
    const bool is_allowed = std::any_of(
        options_.network.begin(), options_.network.end(),
        [&](const std::string& ceiling) { return jail::egress_rule_covers(ceiling, rule); });
    (is_allowed ? allowed : lost).push_back(rule);
  }
  sandbox.request_.network.network.rules = std::move(allowed);
  return lost;
}

// Its record still says that it lives, and its directory stays.
void Sandboxes::leave_for_later(Sandbox& sandbox, const std::string& why) {
  const std::lock_guard lock(mutex_);
  sandbox.comes_back_ = true;
  {
    const std::lock_guard of_it(sandbox.mutex_);
    sandbox.end_ = Sandbox::End{outcome_of_no_return(why), std::chrono::system_clock::now()};
  }
  note_end(sandbox, sandbox.end_->outcome);
}

asio::awaitable<void> Sandboxes::written(Found sandbox) {
  if (sandbox->disk_ == nullptr) return history_.settle();
  return history_.written();
}

void Sandboxes::keep_living(Sandbox& sandbox) {
  const std::lock_guard lock(mutex_);
  if (!sandbox.end()) history_.keep(sandbox.known());
}

}  // namespace runtime
