#include "server/cli/serve.h"

#include <malloc.h>

#include <boost/asio/co_spawn.hpp>
#include <boost/asio/detached.hpp>
#include <boost/asio/signal_set.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/asio/this_coro.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <boost/asio/use_future.hpp>
#include <chrono>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <memory>
#include <optional>
#include <utility>

#include "runtime/sandbox/runner.h"
#include "runtime/service/authentication.h"
#include "runtime/service/old_answers.h"
#include "runtime/store/job_place.h"
#include "server/api/api.h"
#include "server/cli/agent_parts.h"
#include "server/cli/drop_privileges.h"
#include "server/cli/exit_codes.h"
#include "server/cli/host_versions.h"
#include "server/cli/notify.h"
#include "server/cli/service_parts.h"
#include "server/cli/state_directory.h"
#include "server/cli/workers.h"
#include "server/http/http_server.h"

namespace server {
namespace {

namespace asio = boost::asio;

// A terminal that is closed sends SIGHUP, often more than once; nohup(1) makes a program ignore it.
void end_with_the_terminal(asio::signal_set& signals) {
  struct sigaction action {};
  if (::sigaction(SIGHUP, nullptr, &action) == 0 && action.sa_handler != SIG_IGN) {
    signals.add(SIGHUP);
  }
}

// Left to itself glibc takes the first large block that is freed for a reason to keep up to 64 MiB
// at the end of each heap, where malloc_trim() does not reach. Blocks above this size are mapped,
// and the others leave 128 KiB there.
void keep_no_large_blocks() {
  constexpr int large = 4 << 20;
  ::mallopt(M_MMAP_THRESHOLD, large);
}

void end_at_once_when_asked_again(const std::shared_ptr<asio::signal_set>& signals) {
  signals->async_wait([signals](const boost::system::error_code& error, int again) {
    if (error) return;
    if (again != SIGHUP) std::_Exit(exit_signal_base + again);
    end_at_once_when_asked_again(signals);
  });
}

// The same two times over: once asked to end it answers what runs, asked again it ends at once.
asio::awaitable<bool> serve_until_signal(std::shared_ptr<asio::signal_set> signals, Api& api,
                                         HttpServer& http, runtime::Sandboxes& sandboxes,
                                         runtime::Volumes* volumes, runtime::Webhooks& webhooks,
                                         std::chrono::milliseconds patience,
                                         const Notifier& notifier, runtime::Logger& logger) {
  const int first = co_await signals->async_wait(asio::use_awaitable);
  notifier.tell("STOPPING=1");
  logger.info("stopping", {{"signal", std::int64_t{first}}});
  end_at_once_when_asked_again(signals);
  api.drain();
  sandboxes.drain();
  if (volumes != nullptr) volumes->drain();
  webhooks.drain();
  const bool clean = co_await http.stop(patience);
  co_await sandboxes.stop(patience_for_sandboxes);
  signals->cancel();
  co_return clean;
}

// Where a worker hangs this gets no further, and systemd restarts the service.
asio::awaitable<void> show_life(Notifier notifier, std::chrono::microseconds period,
                                const Workers& workers) {
  asio::steady_timer timer(co_await asio::this_coro::executor);
  for (;;) {
    co_await workers.visit();
    notifier.tell("WATCHDOG=1");
    timer.expires_after(period / 2);
    co_await timer.async_wait(asio::use_awaitable);
  }
}

// Takes the address before anything else is begun: whoever cannot have it hears so at once, and
// root may have a port that is root's. A Unix socket belongs to whoever serves it, so it is made
// later.
jail::Result<void> take_address(const runtime::Config& config, Listener& listener) {
  if (auto checked = runtime::check_exposure(config); !checked) return checked;
  if (runtime::unix_path(config.api_host)) return {};
  auto listening = listen_tcp(config.api_host, config.api_port);
  if (!listening) return listening.error();
  listener = std::move(*listening);
  return {};
}

// An error of the address that --host names is an error of that option.
jail::Result<void> in_host_option(const ServeOptions& options, jail::Result<void> taken) {
  constexpr std::string_view setting = "API_HOST";
  if (taken || !taken.error().doing.starts_with(setting)) return taken;
  jail::Error error = taken.error();
  for (const runtime::FlagSetting& flag : options.host.flags) {
    if (flag.name == setting) error.doing.replace(0, setting.size(), flag.flag);
  }
  return error;
}

std::string place_of(const std::string& host, std::uint16_t port) {
  if (runtime::unix_path(host)) return host;
  const bool v6 = host.find(':') != host.npos;
  return "http://" + (v6 ? "[" + host + "]" : host) + ":" + std::to_string(port);
}

int serve_with(Service& service, Listener listener, const std::optional<std::string>& usual_jobs,
               const Notifier& notifier, Agent& agent, ApiOptions api_options) {
  const runtime::Config& config = service.start.config;
  runtime::Runner& runner = *service.runner;
  Workers& workers = service.workers;
  runtime::Logger& logger = service.logger;
  const runtime::JobBounds bounds{.kept = config.jobs_kept,
                                  .max_bytes = std::uint64_t{config.jobs_max_mb} << 20,
                                  .durable = config.jobs_durable};
  auto table = runtime::open_job_table(config.jobs_path, usual_jobs, bounds,
                                       runtime::record_of_old_answer, logger);
  if (!table) return fail(exit_own_failure, table.error().message());
  if (table->found_running() > 0) {
    logger.warning("jobs of a server that ended before them are marked as failed",
                   {{"jobs", std::int64_t{table->found_running()}}});
  }
  runtime::Jobs jobs(std::move(*table), logger);
  runtime::Metrics metrics;
  runtime::SandboxHistory history(jobs, config.sandbox_events_kept);
  const auto listening = service.egress.listen(
      [&history](const jail::EgressDecision& decision) { history.note_egress(decision); });
  auto options_of_sandboxes = sandbox_options(service);
  if (const auto keys = runtime::api_keys_of(config); !keys.empty()) {
    const auto tenants = runtime::tenants_of(keys, jobs);
    options_of_sandboxes.tenants.emplace(tenants.begin(), tenants.end());
  }
  if (!config.sandbox_disk_path.empty()) {
    auto disks = disks_of(service, jobs);
    if (!disks) return fail(exit_own_failure, disks.error().message());
    options_of_sandboxes.disks = std::move(*disks);
    options_of_sandboxes.volumes = volumes_of(jobs, options_of_sandboxes.disks, service);
  }
  const std::shared_ptr<runtime::Volumes> volumes = options_of_sandboxes.volumes;
  runtime::Sandboxes sandboxes(runner, logger, history, std::move(options_of_sandboxes));
  runtime::Webhooks webhooks(jobs, history, metrics, logger, webhook_options(config));
  const std::string version = api_options.version;
  Api api(std::move(api_options), {.runner = runner,
                                   .jobs = jobs,
                                   .metrics = metrics,
                                   .logger = logger,
                                   .agent = agent.runtime.get(),
                                   .lessons = agent.lessons.get(),
                                   .sandboxes = &sandboxes,
                                   .webhooks = &webhooks,
                                   .volumes = volumes.get()});
  // Clients that connect meanwhile wait.
  sandboxes.bring_back(workers.executors());
  HttpOptions options;
  options.max_connections = config.api_max_connections;
  options.max_connections_per_peer = runtime::connections_per_peer(config);
  options.idle_timeout = config.api_idle;
  const auto first = workers.executors().front();
  HttpServer http(workers.executors(), options, api, logger);
  if (const auto path = runtime::unix_path(config.api_host)) {
    auto made = listen_unix(*path, config.api_socket_mode);
    if (!made) return fail(exit_own_failure, as_whom(made.error()).message());
    listener = std::move(*made);
  }
  const std::string place = place_of(config.api_host, listener.port);
  http.listen(std::move(listener));
  // Caught before anybody is told that we listen: who sees the line may send a signal at once.
  const auto signals = std::make_shared<asio::signal_set>(first, SIGINT, SIGTERM);
  end_with_the_terminal(*signals);
  logger.info("agent-sandbox " + version + " listening on " + place);
  if (notifier.watchdog()) {
    asio::co_spawn(first, show_life(notifier, *notifier.watchdog(), workers), asio::detached);
  }
  notifier.tell("READY=1");
  const bool clean = asio::co_spawn(first,
                                    serve_until_signal(signals, api, http, sandboxes, volumes.get(),
                                                       webhooks, config.drain, notifier, logger),
                                    asio::use_future)
                         .get();
  if (clean) {
    logger.info("stopped");
  } else {
    logger.error("stopped with requests unanswered");
  }
  workers.stop();
  return clean ? 0 : exit_own_failure;
}

}  // namespace

int serve(const ServeOptions& options, runtime::Environment environment,
          const std::string& version) {
  keep_no_large_blocks();
  take_state_directory(environment, options.host.user);
  const auto usual_jobs = runtime::usual_jobs_path(environment);
  const Notifier notifier(environment);
  Listener listener;
  auto started = start_service({.host = options.host,
                                .environment = std::move(environment),
                                .config_path = options.config_path,
                                .check = [&](const runtime::Config& config) {
                                  return in_host_option(options, take_address(config, listener));
                                }});
  if (!started) return fail_to_start(started.error().message());
  Service& service = **started;
  const runtime::Config& config = service.start.config;
  auto agent = make_agent(config, service.start.environment, *service.runner,
                          runtime::agent::Lessons::used, service.logger);
  if (!agent) return fail(exit_own_failure, agent.error().message());
  runtime::ProgramRoot root = service.start.root;
  ask_host_versions(root);
  const auto providers = provider_names(*agent);
  log_limits(service.logger, service.start.cgroup);
  service.logger.info("programs run on " + runtime::describe(root));
  if (!providers.empty()) service.logger.info("tasks are solved by " + providers.front());
  return serve_with(service, std::move(listener), usual_jobs, notifier, *agent,
                    api_options(config, std::move(root), service.templates, version, providers));
}

}  // namespace server
