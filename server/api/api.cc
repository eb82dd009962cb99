#include "server/api/api.h"

#include <algorithm>
#include <optional>
#include <utility>

#include "runtime/benchmark/suite.h"
#include "runtime/sandbox/language.h"
#include "server/api/encode.h"
#include "server/api/guard.h"
#include "server/api/openapi.h"
#include "server/api/task_rules.h"

namespace server {
namespace {

// A load balancer has no key, and what it gets to see is bare; the interface is no secret.
bool is_open(Route route) { return route == Route::health || route == Route::openapi; }

bool runs_programs(Route route) {
  return route == Route::execute || route == Route::stream || route == Route::benchmark;
}

// What makes the server run a program or read the disk. Its operator sees how it is doing whatever
// callers do.
bool is_rated(Route route) {
  return runs_programs(route) || route == Route::jobs || route == Route::job ||
         route == Route::lessons || route == Route::lesson;
}

std::optional<RequestRate> rate_of_keys(const runtime::Config& config) {
  const runtime::Rate& rate = config.api_key_rate;
  if (rate.requests == 0) return std::nullopt;
  return RequestRate{.interval = std::chrono::nanoseconds(rate.time) / rate.requests,
                     .burst = config.api_key_burst > 0 ? config.api_key_burst : rate.requests};
}

std::unique_ptr<RateLimit> rate_limit_of(const ApiOptions& options) {
  if (!options.key_rate) return nullptr;
  return std::make_unique<RateLimit>(*options.key_rate,
                                     std::max<std::size_t>(1, options.keys.size()));
}

std::string_view status_class(int status) {
  switch (status / 100) {
    case 1:
      return "1xx";
    case 2:
      return "2xx";
    case 4:
      return "4xx";
    default:
      return "5xx";
  }
}

}  // namespace

ApiOptions api_options(const runtime::Config& config, runtime::ProgramRoot root,
                       std::vector<runtime::Template> templates, std::string version,
                       const std::vector<std::string>& providers) {
  ApiOptions options;
  options.version = std::move(version);
  options.keys = config.api_keys;
  const bool local = runtime::is_loopback(config.api_host);
  options.host_check = local ? ApiOptions::HostCheck::local : ApiOptions::HostCheck::any;
  options.allowed_hosts = config.api_allowed_hosts;
  options.key_rate = rate_of_keys(config);
  options.execute.default_timeout = config.sandbox_timeout;
  options.execute.default_memory_limit_mb = config.sandbox_memory_limit_mb;
  options.execute.ceilings = config.ceilings;
  if (config.network_enabled) options.execute.network = config.network_allow;
  options.execute.why_no_task = why_no_task(config);
  options.execute.tasks = task_rules(config, providers);
  options.execute.suites = runtime::benchmark::suite_names();
  for (const runtime::Language language : runtime::all_languages) {
    if (auto why = runtime::why_not_available(language, root)) {
      options.execute.why_no_language.emplace(language, std::move(*why));
    }
  }
  options.execute.templates = std::move(templates);
  options.root = std::move(root);
  return options;
}

Api::Api(ApiOptions options, Services services)
    : options_(std::move(options)),
      services_(services),
      rate_limit_(rate_limit_of(options_)),
      started_(std::chrono::steady_clock::now()) {
  for (const auto& key : options_.keys) owners_.push_back(services_.jobs.owner_of(key.reveal()));
}

std::optional<Response> Api::admit(const RequestHead& head) const {
  if (options_.host_check == ApiOptions::HostCheck::local &&
      !is_local_host(head, options_.allowed_hosts)) {
    return problem(421,
                   "Host: this server answers to localhost only; API_ALLOWED_HOSTS adds names");
  }
  const auto match = match_route(head.path);
  const auto key = key_shown(head, options_.keys);
  const bool may_ask = key || options_.keys.empty();
  if (!may_ask && !(match && is_open(match->route))) {
    return problem(401, "expected a valid key in Authorization: Bearer or in X-API-Key",
                   {{"WWW-Authenticate", "Bearer"}});
  }
  if (!match) return problem(404, "no such path");
  if (!is_allowed_method(match->methods, head.method)) {
    return problem(405, "expected " + std::string(match->methods),
                   {{"Allow", std::string(match->methods)}});
  }
  if (runs_programs(match->route) && is_draining()) {
    services_.metrics.rejected.add({"stopping"});
    return problem(503, "the server is stopping", {{"Retry-After", "5"}}, {.code = "stopping"});
  }
  if (is_rated(match->route)) {
    if (auto refusal = check_rate(key)) return refusal;
  }
  if (head.method == "POST" && !is_json(head)) {
    return problem(415, "Content-Type: expected application/json");
  }
  if (match->route == Route::stream) return admit_stream(head);
  if (head.header("Content-Encoding")) {
    return problem(415, "Content-Encoding: expected none");
  }
  return std::nullopt;
}

// Whole seconds, so that whoever waits for them is not too early.
std::optional<Response> Api::check_rate(std::optional<std::size_t> key) const {
  if (rate_limit_ == nullptr) return std::nullopt;
  const auto wait = rate_limit_->take(key.value_or(0), options_.clock());
  if (wait.count() == 0) return std::nullopt;
  const std::string seconds = std::to_string(std::chrono::ceil<std::chrono::seconds>(wait).count());
  services_.metrics.rejected.add({"rate"});
  return problem(429, "too many requests in a short time; try again in " + seconds + " s",
                 {{"Retry-After", seconds}}, {.code = "rate_limit"});
}

boost::asio::awaitable<Response> Api::handle(RequestHead head, std::string body,
                                             std::stop_token gone) {
  const auto match = match_route(head.path);
  std::string id(match ? match->id : std::string_view());
  switch (match ? match->route : Route::stream) {
    case Route::execute:
      co_return co_await execute(std::move(head), std::move(body), std::move(gone));
    case Route::benchmark:
      co_return co_await benchmark(std::move(head), std::move(body), std::move(gone));
    case Route::health:
      co_return health(head);
    case Route::jobs:
      co_return co_await list_jobs(std::move(head));
    case Route::job:
      if (head.method == "DELETE") co_return co_await cancel_job(std::move(head), std::move(id));
      co_return co_await job(std::move(head), std::move(id));
    case Route::lessons:
      if (head.method == "DELETE") co_return co_await erase_lessons(std::move(head), std::nullopt);
      co_return co_await list_lessons(std::move(head));
    case Route::lesson:
      co_return co_await erase_lessons(std::move(head), std::move(id));
    case Route::metrics:
      co_return metrics();
    case Route::openapi: {
      Response response;
      response.body = openapi_json();
      co_return response;
    }
    case Route::stats:
      co_return stats();
    case Route::stream:
      break;
  }
  co_return problem(404, "no such path");
}

void Api::answered(const RequestHead& head, int status) {
  const auto match = match_route(head.path);
  services_.metrics.responses.add({match ? match->label : "other", status_class(status)});
  if (!head.method.empty()) return;
  if (status == 503) services_.metrics.rejected.add({"connections"});
  if (status == 429) services_.metrics.rejected.add({"peer"});
}

boost::asio::awaitable<Response> Api::execute(RequestHead head, std::string body,
                                              std::stop_token gone) {
  auto decoded = decode_execute(body, options_.execute);
  if (auto* refusal = std::get_if<Response>(&decoded)) co_return std::move(*refusal);
  body = std::string();  // up to 16 MiB that nobody needs while the program runs
  if (auto* task = std::get_if<runtime::agent::TaskRequest>(&decoded)) {
    co_return co_await execute_task(std::move(head), std::move(*task), std::move(gone));
  }
  auto& request = std::get<runtime::RunRequest>(decoded);
  runtime::RunOptions run_options;
  const std::stop_callback on_gone(gone, [cancel = run_options.cancel] { cancel.request(); });
  auto ran = co_await run_program(services_, asker_of(head), make_job(), std::move(request),
                                  std::move(run_options));
  if (auto* refusal = std::get_if<Response>(&ran)) co_return std::move(*refusal);
  Response response;
  response.body = std::move(std::get<Ran>(ran).result);
  co_return response;
}

Response Api::health(const RequestHead& head) const {
  std::optional<HealthDetails> details;
  if (has_key(head, options_.keys)) {
    details = HealthDetails{.version = options_.version,
                            .uptime = uptime(),
                            .runner = services_.runner.state(),
                            .root = options_.root};
  }
  Response response;
  // A load balancer looks at the status alone.
  if (is_draining()) {
    response.status = 503;
    response.headers.push_back({"Retry-After", "5"});
  }
  response.body = encode_health(is_draining() ? "draining" : "ok", details);
  return response;
}

Asker Api::asker_of(const RequestHead& head) const {
  return {.request_id = head.request_id, .owner = owner_filter(head).value_or("")};
}

// Nothing where no keys are configured: everybody sees everything.
std::optional<std::string> Api::owner_filter(const RequestHead& head) const {
  const auto place = key_shown(head, options_.keys);
  if (!place) return std::nullopt;
  return owners_[*place];
}

std::chrono::duration<double> Api::uptime() const {
  return std::chrono::steady_clock::now() - started_;
}

}  // namespace server
