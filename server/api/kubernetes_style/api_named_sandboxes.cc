// Sandboxes by name: create, list, show, pause, resume and delete them; how much room there is.
#include <optional>
#include <utility>
#include <variant>

#include "runtime/json/writer.h"
#include "runtime/service/named_sandbox.h"
#include "server/api/kubernetes_style/create_request.h"
#include "server/api/kubernetes_style/envelope.h"
#include "server/api/kubernetes_style/sandbox_view.h"
#include "server/api/kubernetes_style/table.h"
#include "server/api/query.h"
#include "server/api/route_groups.h"
#include "server/api/sandbox_target.h"

namespace server::kubernetes_style {
namespace {

using boost::asio::awaitable;
using runtime::Refusal;
using runtime::Sandboxes;
using runtime::json::Writer;

// Returns the caller's living sandboxes.
std::vector<Sandboxes::Found> living_of(const Sandboxes& sandboxes,
                                        const runtime::Principal& principal) {
  Sandboxes::Query query;
  query.states = {runtime::Sandbox::State::running, runtime::Sandbox::State::paused};
  query.limit = sandboxes.options().most;
  return sandboxes.list(principal, query).sandboxes;
}

// The working directory has another name here.
Refusal in_own_names(Refusal refusal) {
  constexpr std::string_view name = "working_directory: ";
  if (refusal.detail.starts_with(name)) refusal.detail.replace(0, name.size(), "workdir: ");
  return refusal;
}

awaitable<Response> create_named_sandbox(runtime::Services services,
                                         const runtime::RequestRules* rules, Call call) {
  auto read = decode_create(call.body, *rules, services.sandboxes->options().cores);
  if (auto* refusal = std::get_if<Response>(&read)) co_return std::move(*refusal);
  auto request = std::get<runtime::SandboxRequest>(std::move(read));
  const std::string name = request.name;
  runtime::Caller caller = caller_of(call);
  const auto made =
      co_await runtime::create_named(*services.sandboxes, std::move(caller), std::move(request));
  if (const auto* refusal = std::get_if<Refusal>(&made)) {
    if (refusal->code != RefusalCode::name_taken) co_return problem(in_own_names(*refusal));
    co_return problem(RefusalCode::name_taken, "sandbox " + name + " already exists");
  }
  const auto& sandbox = *std::get<Sandboxes::Found>(made);
  services.logger.info("sandbox created",
                       {{"request_id", call.head.request_id}, {"sandbox_id", sandbox.id()}});
  co_return enveloped_text(success(sandbox, "created"));
}

awaitable<Response> list_named(runtime::Services services, Call call) {
  const auto living = living_of(*services.sandboxes, call.principal);
  if (living.empty()) {
    Response response;
    response.body = R"({"code":"500","error":"no sandboxes found"})";
    co_return response;
  }
  Writer writer;
  writer.begin_array();
  for (const auto& sandbox : living) write_named_sandbox(writer, *services.sandboxes, *sandbox);
  writer.end_array();
  co_return enveloped(std::move(writer));
}

// As a name of Kubernetes, a name stands for a sandbox that lives; an id for one that has ended,
// too.
Sandboxes::Or<Sandboxes::Found> find_named(const runtime::Services& services, const Call& call) {
  const auto name = call.parameter("id");
  auto found = services.sandboxes->find(call.principal, name);
  const auto* const sandbox = std::get_if<Sandboxes::Found>(&found);
  if (sandbox == nullptr || (*sandbox)->id() == name || !(*sandbox)->end()) return found;
  return Refusal{.code = RefusalCode::no_such_sandbox,
                 .detail = "no such sandbox: " + (*sandbox)->request().name};
}

awaitable<Response> show_named(runtime::Services services, Call call) {
  const auto found = find_named(services, call);
  if (const auto* refusal = std::get_if<Refusal>(&found)) co_return problem(*refusal);
  Writer writer;
  write_named_sandbox(writer, *services.sandboxes, *std::get<Sandboxes::Found>(found));
  co_return enveloped(std::move(writer));
}

awaitable<Response> delete_named(runtime::Services services, Call call) {
  const auto found = find_named(services, call);
  if (const auto* refusal = std::get_if<Refusal>(&found)) co_return problem(*refusal);
  const auto sandbox = std::get<Sandboxes::Found>(found);
  co_await services.sandboxes->remove(caller_of(call), sandbox);
  co_return enveloped_text(success(*sandbox, "deleted"));
}

using Change = awaitable<std::optional<Refusal>> (Sandboxes::*)(runtime::Caller, Sandboxes::Found);

awaitable<Response> change_named(runtime::Services services, Change change, std::string_view done,
                                 SandboxTarget target, Call call) {
  const auto refused = co_await (services.sandboxes->*change)(caller_of(call), target.sandbox);
  if (refused) co_return problem(*refused);
  co_return enveloped_text(success(*target.sandbox, done));
}

// Writes the number of living sandboxes, for callers who may read it.
void write_living(Writer& writer, const runtime::Services& services,
                  const runtime::Principal& principal) {
  if (!principal.may(runtime::Scope::read)) {
    writer.null();
    return;
  }
  const auto living = living_of(*services.sandboxes, principal);
  writer.integer(static_cast<std::int64_t>(living.size()));
}

awaitable<Response> show_rate_limit(runtime::Services services, std::optional<RequestRate> rate,
                                    Call call) {
  const Sandboxes::Options& options = services.sandboxes->options();
  Writer writer;
  writer.begin_object().key("sandboxes").begin_object();
  write_living(writer.key("used"), services, call.principal);
  writer.key("limit").integer(options.max_per_owner);
  writer.key("limit_of_all").integer(options.most).end_object();
  writer.key("requests");
  if (rate) {
    const std::chrono::duration<double, std::milli> interval = rate->interval;
    writer.begin_object().key("interval_ms").number(interval.count());
    writer.key("burst").integer(static_cast<std::int64_t>(rate->burst)).end_object();
  } else {
    writer.null();
  }
  writer.end_object();
  co_return enveloped(std::move(writer));
}

// A client without a key learns only that the server is there.
awaitable<Response> show_status(runtime::Services services, Call call) {
  Writer writer;
  writer.begin_object().key("leader").boolean(true);
  if (call.is_known && services.sandboxes != nullptr) {
    write_living(writer.key("sandboxes").begin_object().key("total"), services, call.principal);
    writer.end_object().key("capacity").begin_object();
    writer.key("total").integer(services.sandboxes->options().most).end_object();
  }
  writer.end_object();
  co_return enveloped(std::move(writer));
}

}  // namespace

void add_sandbox_routes(const RouteParts& parts) {
  using Versions = Route::Versions;
  using Body = Route::Body;
  Table table(parts.table);
  table.add({"POST", "/api/v1/sandbox", Access::key(Scope::sandboxes), Cost::program,
             bound(create_named_sandbox, parts.services, &parts.rules), QueryNames(),
             Versions::plain});
  table.add({"GET", "/api/v1/sandbox", Access::key(Scope::read), Cost::record,
             bound(list_named, parts.services), QueryNames(), Versions::plain});
  table.add({"GET", "/api/v1/sandbox/{id}", Access::key(Scope::read), Cost::record,
             bound(show_named, parts.services), QueryNames(), Versions::plain});
  table.add({"DELETE", "/api/v1/sandbox/{id}", Access::key(Scope::sandboxes), Cost::record,
             bound(delete_named, parts.services), QueryNames(), Versions::plain});
  table.add({"POST", "/api/v1/sandbox/pause/{id}", Access::key(Scope::sandboxes), Cost::record,
             for_target<sandbox_target>(parts.services, change_named, Change(&Sandboxes::pause),
                                        std::string_view("paused")),
             QueryNames(), Versions::plain, std::string_view(), Body::none});
  table.add({"POST", "/api/v1/sandbox/resume/{id}", Access::key(Scope::sandboxes), Cost::record,
             for_target<sandbox_target>(parts.services, change_named, Change(&Sandboxes::resume),
                                        std::string_view("resumed")),
             QueryNames(), Versions::plain, std::string_view(), Body::none});
  table.add({"GET", "/api/v1/ratelimit", Access::any_key(), Cost::none,
             bound(show_rate_limit, parts.services, parts.key_rate), QueryNames(),
             Versions::plain});
  table.add({"GET", "/api/v1/status", Access::open(), Cost::none,
             bound(show_status, parts.services), QueryNames(), Versions::plain});
}

}  // namespace server::kubernetes_style
