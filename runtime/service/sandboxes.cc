#include "runtime/service/sandboxes.h"

#include <errno.h>

#include <algorithm>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/detached.hpp>
#include <boost/asio/this_coro.hpp>
#include <charconv>
#include <utility>

#include "runtime/json/writer.h"
#include "runtime/observe/uuid.h"
#include "runtime/sandbox/jail_handle.h"
#include "runtime/sandbox/language.h"
#include "runtime/service/turn.h"

namespace runtime {
namespace {

namespace asio = boost::asio;

// These are the bounds that jail::Jail::spawn() has.
constexpr std::uint32_t max_running = 64;
constexpr std::uint32_t max_left_behind = 256;
// The refusal for a bound of one sandbox.

Refusal busy(std::string detail, std::uint32_t limit) {
  return {.code = RefusalCode::busy,
          .detail = std::move(detail),
          .limit = std::int64_t{limit},
          .used = std::int64_t{limit}};
}

// Errors of execve(2) about a file that is not a program.
bool is_of_the_program(const jail::Error& error) {
  constexpr int own[] = {ENOEXEC, EACCES, ENOENT, ENOTDIR, ELOOP, ETXTBSY, E2BIG};
  return error.kind == jail::ErrorKind::kernel &&
         std::find(std::begin(own), std::end(own), error.sys_errno) != std::end(own);
}

// A volume is to be where an operator's jail file has something.
bool is_place_of_a_volume(const jail::Error& error) {
  return error.kind == jail::ErrorKind::refused && error.doing.starts_with("volumes[");
}

// What a caller named is repeated up to this length.
constexpr std::size_t max_repeated_bytes = 80;

Refusal no_such_sandbox(std::string_view id_or_name) {
  std::string detail = "no such sandbox";
  if (!id_or_name.empty()) {
    detail += ": " + std::string(json::utf8_prefix(id_or_name, max_repeated_bytes));
  }
  return {.code = RefusalCode::no_such_sandbox, .detail = std::move(detail)};
}

bool is_one_of(Sandbox::State state, const std::vector<Sandbox::State>& wanted) {
  return wanted.empty() || std::find(wanted.begin(), wanted.end(), state) != wanted.end();
}

bool has_all(const Metadata& metadata, const Metadata& wanted) {
  return std::all_of(wanted.begin(), wanted.end(), [&](const auto& pair) {
    const auto found = metadata.find(pair.first);
    return found != metadata.end() && found->second == pair.second;
  });
}

ProcessCommand command_of(const SandboxRequest& sandbox, ProcessRequest request) {
  RunRequest variables;
  variables.env = sandbox.env;
  if (request.terminal) variables.env.emplace_back("TERM", "xterm-256color");
  variables.env.insert(variables.env.end(), request.env.begin(), request.env.end());
  ProcessCommand command;
  command.argv = std::move(request.argv);
  command.env = environment_of(variables);
  command.working_directory =
      request.working_directory.empty() ? sandbox.working_directory : request.working_directory;
  command.terminal = request.terminal;
  command.timeout = request.timeout;
  command.input = std::move(request.standard_input);
  command.keep_input_open = request.keep_stdin_open;
  command.in_background = request.background;
  return command;
}

}  // namespace

Sandboxes::Sandboxes(Runner& runner, Logger& logger, SandboxHistory& history, Options options)
    : runner_(runner),
      logger_(logger),
      history_(history),
      options_(std::move(options)),
      secret_gateways_(std::make_shared<SecretGateways>(options_.secrets)) {
  restore();
}

Sandboxes::~Sandboxes() {
  secret_gateways_->stop();
  end_sampling();
  file_workers_.join();
}

// Reserves a place and a name for a new sandbox.
std::optional<Refusal> Sandboxes::reserve(const Principal& principal,
                                          const SandboxRequest& request) {
  const std::lock_guard lock(mutex_);
  if (is_stopping_) return busy("the server is stopping", 0);
  std::uint32_t alive = static_cast<std::uint32_t>(under_way_.size());
  std::uint32_t own = 0;
  bool is_taken = false;
  const auto look = [&](const std::string& owner, const std::string& name, bool lives) {
    if (owner != principal.tenant) return;
    if (lives) ++own;
    is_taken = is_taken || (!name.empty() && name == request.name);
  };
  for (const auto& [owner, name] : under_way_) look(owner, name, true);
  for (const Found& sandbox : sandboxes_) {
    // The name of one that comes back later stays its own. It takes no place of those that live:
    // nobody but its owner could make room there, whose key may be gone.
    const bool lives = !sandbox->end();
    if (!lives && !sandbox->comes_back()) continue;
    if (lives) ++alive;
    look(sandbox->owner(), sandbox->request().name, lives);
  }
  if (is_taken) {
    return Refusal{.code = RefusalCode::name_taken,
                   .detail = "name: " + request.name + " is the name of another sandbox"};
  }
  if (alive >= options_.most) {
    return busy("too many sandboxes live; try again when one has ended", options_.most);
  }
  if (own >= options_.max_per_owner) {
    return Refusal{.code = RefusalCode::caller_limit,
                   .detail = "too many sandboxes of this caller live; delete one",
                   .limit = std::int64_t{options_.max_per_owner},
                   .used = std::int64_t{own}};
  }
  under_way_.emplace_back(principal.tenant, request.name);
  return std::nullopt;
}

asio::awaitable<jail::Result<std::shared_ptr<LivingSandbox>>> Sandboxes::launch(
    Found sandbox, const SandboxRequest& request) {
  LivingRequest wanted;
  wanted.template_name = request.template_name;
  wanted.memory_limit_mb = request.memory_mb;
  wanted.processes = request.processes;
  wanted.disk_limit_mb = request.disk_mb;
  wanted.cpu_percent = request.cpu_percent;
  wanted.max_processes = max_sandbox_processes;
  wanted.max_disk_limit_mb = request.is_on_disk ? options_.max_directory_mb : max_memory_disk_mb;
  if (sandbox->disk_ != nullptr) wanted.workspace = sandbox->disk_->path();
  wanted.volumes = living_volumes_of(*sandbox);
  // What an earlier server gave it counts.
  const auto max_lifetime = options_.max_lifetime - sandbox->lived_before_;
  wanted.max_lifetime = max_lifetime;
  wanted.network = request.network.network;
  wanted.network.label = sandbox->id_;
  wanted.is_warm = request.is_warm;
  const LivingSandbox::Times times{
      .lifetime = request.timeout, .idle = request.idle, .max_lifetime = max_lifetime};
  const LivingSandbox::Pausing pausing{.in_place_of_end = request.pauses_at_its_end,
                                       .resumes_on_demand = request.resumes_on_demand,
                                       .max_paused = options_.max_paused};
  const asio::any_io_executor executor = co_await asio::this_coro::executor;
  for (bool is_first = true;; is_first = false) {
    auto jail = co_await living_jail(wanted);
    if (!jail) co_return jail.error();
    wanted.failed = jail->launcher;
    LivingSandbox::News news = news_of(sandbox, executor);
    LivingSandbox::Secrets secrets{.secrets = request.network.secrets,
                                   .gateways = secret_gateways_};
    auto living = co_await LivingSandbox::start(std::move(*jail), times, pausing, std::move(news),
                                                std::move(secrets));
    if (living || living.error().kind != jail::ErrorKind::closed || !is_first) co_return living;
    logger_.warning("a sandbox is launched again", {{"error", living.error().message()}});
  }
}

asio::awaitable<Sandboxes::Or<Sandboxes::Found>> Sandboxes::create(Caller caller,
                                                                   SandboxRequest request) {
  if (request.cpu_percent > 0) {
    if (auto refusal = check_cpu(request.cpu_percent)) co_return std::move(*refusal);
  }
  if (auto refusal = reserve(caller.principal, request)) co_return std::move(*refusal);
  if (request.is_warm && request.template_name.empty()) {
    request.template_name = name_of(Language::python);
  }
  const std::pair reserved(caller.principal.tenant, request.name);
  const auto give_back = [this, &reserved] {
    under_way_.erase(std::find(under_way_.begin(), under_way_.end(), reserved));
  };
  const Found sandbox(new Sandbox());
  sandbox->id_ = random_text();
  sandbox->access_token_ = Secret(random_text());
  sandbox->url_key_ = Secret(random_text());
  sandbox->owner_ = caller.principal.tenant;
  sandbox->metadata_ = std::move(request.metadata);
  if (auto refusal = mount_volumes(caller.principal, *sandbox, request, SandboxDisks::Room::anew)) {
    const std::lock_guard lock(mutex_);
    give_back();
    co_return std::move(*refusal);
  }
  if (request.is_on_disk && options_.disks != nullptr) {
    if (request.disk_mb > options_.max_directory_mb) {
      const std::lock_guard lock(mutex_);
      give_back();
      co_return Refusal{.code = RefusalCode::out_of_range,
                        .detail = "limits: disk_mb: expected an integer 1 .. " +
                                  std::to_string(options_.max_directory_mb) +
                                  " with disk_kind: directory"};
    }
    auto disk = options_.disks->make(std::uint64_t{request.disk_mb} << 20);
    if (!disk) {
      const std::lock_guard lock(mutex_);
      give_back();
      co_return not_started(disk.error(), "the sandbox");
    }
    sandbox->disk_ = std::move(*disk);
  }
  auto living = co_await launch(sandbox, request);
  const jail::Enforcement enforcement = runner_.state().enforcement;
  {
    const std::lock_guard lock(mutex_);
    give_back();
    if (!living) {
      give_up_disk(*sandbox);
      co_return not_started(living.error(), "the sandbox");
    }
    sandbox->enforcement_ = enforcement;
    sandbox->living_ = std::move(*living);
    watch_disks(*sandbox);
    sandbox->created_ = sandbox->living_->began_at();
    sandbox->watch_bounds_ = watch_bounds_.of_a_sandbox(sandbox->owner_);
    sandbox->limits_ = limits_of(request);
    sandbox->request_ = std::move(request);
    sandbox->number_ = ++last_numbers_[sandbox->owner_];
    sandboxes_.push_back(sandbox);
    begin_sampling();
    history_.keep(sandbox->known());
    note_created(caller, *sandbox);
    // Its gateway alone keeps them.
    sandbox->request_.network.secrets.clear();
    if (is_stopping_) sandbox->living_->end(LivingSandbox::Cause::stopping);
  }
  if (auto refusal = co_await make_working_directory(std::move(caller), sandbox)) {
    co_return std::move(*refusal);
  }
  co_await written(sandbox);
  co_return sandbox;
}

Refusal Sandboxes::not_started(const jail::Error& error, std::string_view what) const {
  // Only what the request asks for can be unsupported: the server's own jails stand.
  const bool is_of_the_request =
      error.kind == jail::ErrorKind::invalid || error.kind == jail::ErrorKind::unsupported;
  if (is_of_the_request || is_place_of_a_volume(error)) {
    return {.code = RefusalCode::bad_request, .detail = error.doing};
  }
  logger_.error(std::string(what) + " could not be started", {{"error", error.message()}});
  if (is_shortage(error) || error.kind == jail::ErrorKind::exhausted) {
    return {.code = RefusalCode::host_exhausted,
            .detail = "the host has no room for " + std::string(what) + "; try again"};
  }
  if (error.kind == jail::ErrorKind::timed_out) {
    return {.code = RefusalCode::too_slow,
            .detail = std::string(what) + " could not be started in time; try again"};
  }
  return {.code = RefusalCode::internal_server_error,
          .detail = std::string(what) + " could not be started; the server's log has the reason"};
}

bool Sandboxes::sees(const Principal& principal, const Sandbox& sandbox) {
  const auto owner = principal.sees();
  return !owner || *owner == sandbox.owner();
}

Sandboxes::Or<Sandboxes::Found> Sandboxes::find(const Principal& principal,
                                                std::string_view id_or_name) const {
  const std::lock_guard lock(mutex_);
  Found latest_ended;
  for (const Found& sandbox : sandboxes_) {
    if (!sees(principal, *sandbox)) continue;
    if (sandbox->id() == id_or_name) return sandbox;
    if (sandbox->request().name != id_or_name || id_or_name.empty()) continue;
    if (!sandbox->end()) return sandbox;
    latest_ended = sandbox;
  }
  if (latest_ended != nullptr) return latest_ended;
  return no_such_sandbox(id_or_name);
}

Sandboxes::Or<Sandboxes::Found> Sandboxes::find_living(const Principal& principal,
                                                       std::string_view id_or_name) const {
  auto found = find(principal, id_or_name);
  const auto* const sandbox = std::get_if<Found>(&found);
  if (sandbox == nullptr || !(*sandbox)->end()) return found;
  return ended_refusal(**sandbox);
}

Sandboxes::Or<Sandboxes::Found> Sandboxes::find_by_token(std::string_view id_or_name,
                                                         std::string_view token) const {
  const std::lock_guard lock(mutex_);
  for (const Found& sandbox : sandboxes_) {
    const auto end = sandbox->end();
    const bool is_meant =
        sandbox->id() == id_or_name || (sandbox->request().name == id_or_name && !end);
    const bool is_opened = !token.empty() && sandbox->access_token().is(token);
    if (!is_meant || !is_opened) continue;
    if (end) return ended_refusal(*sandbox);
    return sandbox;
  }
  return Refusal{.code = RefusalCode::no_such_sandbox, .detail = "no such sandbox"};
}

Sandboxes::Page Sandboxes::list(const Principal& principal, const Query& query) const {
  const std::lock_guard lock(mutex_);
  Page page;
  for (std::size_t left = sandboxes_.size(); left > 0; --left) {
    const Found& sandbox = sandboxes_[left - 1];
    if (query.before != 0 && sandbox->number() >= query.before) continue;
    if (!sees(principal, *sandbox)) continue;
    if (!is_one_of(sandbox->state(), query.states)) continue;
    if (!has_all(sandbox->metadata(), query.metadata)) continue;
    if (page.sandboxes.size() == query.limit) {
      page.has_more = true;
      break;
    }
    page.sandboxes.push_back(sandbox);
  }
  return page;
}

asio::awaitable<Refusal> Sandboxes::ending_refusal(Found sandbox) {
  co_await sandbox->living()->wait_for_end(std::chrono::steady_clock::now() + patience_for_an_end);
  co_return ended_refusal(*sandbox);
}

asio::awaitable<jail::Result<std::shared_ptr<LivingProcess>>> Sandboxes::spawn(
    Caller caller, Found sandbox, ProcessCommand command, std::vector<std::string> files,
    Cancel cancel) {
  ProcessNews news{
      .on_start = [this, caller, sandbox](
                      const LivingProcess& process) { note_started(caller, *sandbox, process); },
      .before_end = {},
      .on_end = [this, sandbox](
                    const LivingProcess& process,
                    const jail::ExitReport& report) { note_its_end(*sandbox, process, report); }};
  if (!files.empty()) {
    news.before_end = [this, sandbox, files = std::move(files)] {
      return remove_program(sandbox, files);
    };
  }
  co_return co_await sandbox->living()->spawn(std::move(command), std::move(cancel),
                                              std::move(news));
}

asio::awaitable<Sandboxes::Or<std::shared_ptr<LivingProcess>>> Sandboxes::start_process(
    Caller caller, Found sandbox, ProcessRequest request, Cancel cancel) {
  const auto& living = sandbox->living();
  if (living->running() >= max_running) {
    co_return busy(
        "as many processes run in this sandbox as there may be: " + std::to_string(max_running),
        max_running);
  }
  if (request.terminal && sandbox->request().is_warm) {
    co_return Refusal{.code = RefusalCode::bad_request,
                      .detail = "pty: a warm sandbox has no terminals"};
  }
  std::string code;
  std::vector<std::string> files;
  if (!request.code.empty()) {
    auto program = program_of(*sandbox, request);
    if (auto* refusal = std::get_if<Refusal>(&program)) co_return std::move(*refusal);
    request.argv = std::move(std::get<Program>(program).argv);
    files = std::move(std::get<Program>(program).files);
    code = std::move(request.code);
  }
  ProcessCommand wanted = command_of(sandbox->request(), std::move(request));
  wanted.is_warm = !files.empty();
  auto look = [living, wanted = std::move(wanted)] { return living->resolved(wanted); };
  auto command = co_await do_file_work(*sandbox, std::move(look));
  if (!command) co_return co_await refusal_of_start(sandbox, command.error(), cancel);
  if (!files.empty()) {
    auto refusal = co_await write_program(sandbox, files.front(), std::move(code));
    if (refusal) co_return std::move(*refusal);
  }
  auto process = co_await spawn(std::move(caller), sandbox, std::move(*command), files, cancel);
  if (process) co_return std::move(*process);
  co_await remove_program(sandbox, std::move(files));
  co_return co_await refusal_of_start(sandbox, process.error(), cancel);
}

asio::awaitable<Refusal> Sandboxes::refusal_of_start(Found sandbox, jail::Error error,
                                                     Cancel cancel) {
  if (cancel.requested()) {
    co_return Refusal{.code = RefusalCode::too_slow, .detail = "nobody waits for the process"};
  }
  if (error.kind == jail::ErrorKind::closed) co_return co_await ending_refusal(sandbox);
  // Init's table is full: other processes have left running descendants behind.
  if (error.kind == jail::ErrorKind::exhausted && error.sys_errno == EAGAIN) {
    co_return busy("as many processes are left in this sandbox as there may be: " +
                       std::to_string(max_left_behind),
                   max_left_behind);
  }
  if (is_of_the_program(error)) {
    co_return Refusal{.code = RefusalCode::bad_request, .detail = "command: " + error.message()};
  }
  if (error.kind == jail::ErrorKind::refused) co_return paused_refusal();
  Refusal refusal = not_started(error, "the process");
  if (error.sys_errno == ENOENT && error.kind == jail::ErrorKind::invalid) {
    refusal.code = RefusalCode::command_not_found;
  }
  co_return refusal;
}

asio::awaitable<void> Sandboxes::settle(Found sandbox, const LivingProcess& process) {
  if (process.state().report.ended != jail::Ended::out_of_memory) co_return;
  co_await sandbox->living()->wait_for_end(std::chrono::steady_clock::now() +
                                           std::chrono::seconds(1));
}

Sandboxes::Or<std::shared_ptr<LivingProcess>> Sandboxes::find_process(const Sandbox& sandbox,
                                                                      std::string_view pid) {
  int number = 0;
  const auto [end, error] = std::from_chars(pid.data(), pid.data() + pid.size(), number);
  const bool is_number = error == std::errc() && end == pid.data() + pid.size();
  auto process = is_number ? sandbox.living()->find(number) : nullptr;
  if (process == nullptr) {
    return Refusal{.code = RefusalCode::no_such_process, .detail = "no such process"};
  }
  return process;
}

Admission& Sandboxes::file_turns_of(const std::string& owner) {
  const std::lock_guard lock(mutex_);
  return file_turns_of_.try_emplace(owner, file_threads_of_an_owner, max_waiting_file_work)
      .first->second;
}

asio::awaitable<std::shared_ptr<Sandboxes::FileTurn>> Sandboxes::file_turn(std::string owner) {
  auto own = co_await place_of(file_turns_of(owner), owner);
  if (!own) co_return nullptr;
  auto of_all = co_await place_of(file_turns_, owner);
  if (!of_all) co_return nullptr;
  co_return std::make_shared<FileTurn>(FileTurn{std::move(*own), std::move(*of_all)});
}

}  // namespace runtime
