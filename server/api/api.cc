#include "server/api/api.h"

#include <array>
#include <optional>
#include <utility>

#include "runtime/sandbox/language.h"
#include "server/api/encode.h"
#include "server/api/guard.h"

namespace server {
namespace {

enum class Route { execute, health };

struct RouteEntry {
  std::string_view path;
  Route route;
};

constexpr std::array<RouteEntry, 4> routes = {{{"/execute", Route::execute},
                                               {"/api/v1/execute", Route::execute},
                                               {"/health", Route::health},
                                               {"/api/v1/health", Route::health}}};

std::optional<Route> route_of(std::string_view path) {
  for (const RouteEntry& entry : routes) {
    if (entry.path == path) return entry.route;
  }
  return std::nullopt;
}

std::optional<Response> check_method(Route route, std::string_view method) {
  if (route == Route::execute && method != "POST") {
    return problem(405, "expected POST", {{"Allow", "POST"}});
  }
  if (route == Route::health && method != "GET" && method != "HEAD") {
    return problem(405, "expected GET or HEAD", {{"Allow", "GET, HEAD"}});
  }
  return std::nullopt;
}

std::string why_no_task(const runtime::Config& config) {
  if (const auto* provider = runtime::active_provider(config)) {
    return "task: the agent that works with the configured provider (" + provider->name +
           ") is not available yet; send code instead";
  }
  if (config.llm_provider) {
    return "task: the key of the configured provider (" + *config.llm_provider +
           ") is not set; set its *_API_KEY";
  }
  std::string names;
  for (const auto& provider : config.providers) {
    std::string name = provider.name + "_API_KEY";
    for (char& c : name) {
      if (c >= 'a' && c <= 'z') c = static_cast<char>(c - 'a' + 'A');
    }
    if (provider.name != "ollama") names += name + ", ";
  }
  return "task: no LLM provider is configured; set one of " + names + "or LLM_PROVIDER=ollama";
}

}  // namespace

ApiOptions api_options(const runtime::Config& config, runtime::ProgramRoot root,
                       std::string version) {
  ApiOptions options;
  options.version = std::move(version);
  options.keys = config.api_keys;
  const bool local = runtime::is_loopback(config.api_host);
  options.host_check = local ? ApiOptions::HostCheck::local : ApiOptions::HostCheck::any;
  options.allowed_hosts = config.api_allowed_hosts;
  options.execute.default_timeout = config.sandbox_timeout;
  options.execute.default_memory_limit_mb = config.sandbox_memory_limit_mb;
  options.execute.ceilings = config.ceilings;
  options.execute.why_no_task = why_no_task(config);
  for (const runtime::Language language : runtime::all_languages) {
    if (auto why = runtime::why_not_available(language, root)) {
      options.execute.why_no_language.emplace(language, std::move(*why));
    }
  }
  options.root = std::move(root);
  return options;
}

Api::Api(ApiOptions options, runtime::Runner& runner, runtime::Logger& logger)
    : options_(std::move(options)),
      runner_(runner),
      logger_(logger),
      started_(std::chrono::steady_clock::now()) {}

std::optional<Response> Api::admit(const RequestHead& head) const {
  if (options_.host_check == ApiOptions::HostCheck::local &&
      !is_local_host(head, options_.allowed_hosts)) {
    return problem(421,
                   "Host: this server answers to localhost only; API_ALLOWED_HOSTS adds names");
  }
  const auto route = route_of(head.path);
  // A load balancer has no key; what it gets to see is bare.
  if (route != Route::health && !has_key(head, options_.keys)) {
    return problem(401, "expected a valid key in Authorization: Bearer or in X-API-Key",
                   {{"WWW-Authenticate", "Bearer"}});
  }
  if (!route) return problem(404, "no such path");
  if (auto refusal = check_method(*route, head.method)) return refusal;
  if (*route == Route::execute && !is_json(head)) {
    return problem(415, "Content-Type: expected application/json");
  }
  if (head.header("Content-Encoding")) {
    return problem(415, "Content-Encoding: expected none");
  }
  return std::nullopt;
}

boost::asio::awaitable<Response> Api::handle(RequestHead head, std::string body,
                                             std::stop_token gone) {
  if (route_of(head.path) == Route::health) co_return health(head);
  co_return co_await execute(std::move(head.request_id), std::move(body), std::move(gone));
}

boost::asio::awaitable<Response> Api::execute(std::string request_id, std::string body,
                                              std::stop_token gone) {
  auto decoded = decode_execute(body, options_.execute);
  if (auto* refusal = std::get_if<Response>(&decoded)) co_return std::move(*refusal);
  body = std::string();  // up to 16 MiB that nobody needs while the program runs
  auto& request = std::get<runtime::RunRequest>(decoded);
  const auto encoding = request.output_encoding;
  const Job job = make_job();
  runtime::RunOptions run_options;
  const std::stop_callback on_gone(gone, [cancel = run_options.cancel] { cancel.request(); });
  auto result = co_await runner_.run(std::move(request), std::move(run_options));
  if (!result) co_return run_failed(request_id, result.error());
  logger_.info("run", {{"request_id", request_id},
                       {"job_id", job.id},
                       {"status", runtime::to_string(result->status)}});
  Response response;
  response.body = encode_result(*result, job, encoding);
  co_return response;
}

Response Api::health(const RequestHead& head) const {
  std::optional<HealthDetails> details;
  if (has_key(head, options_.keys)) {
    details = HealthDetails{.version = options_.version,
                            .uptime = std::chrono::steady_clock::now() - started_,
                            .runner = runner_.state(),
                            .root = options_.root};
  }
  Response response;
  response.body = encode_health(details);
  return response;
}

Response Api::run_failed(const std::string& request_id, const jail::Error& error) const {
  logger_.error("run failed", {{"request_id", request_id}, {"error", error.message()}});
  if (error.kind == jail::ErrorKind::exhausted) {
    return problem(503, "too many programs run or wait; try again", {{"Retry-After", "1"}});
  }
  // The reason may name paths of the host.
  return problem(500,
                 "the program could not be started; the server's log has the reason under "
                 "this request's id");
}

}  // namespace server
