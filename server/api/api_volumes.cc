// The routes of volumes: directories that outlive the sandboxes which use them.
#include <cstdint>
#include <string>
#include <utility>
#include <variant>

#include "runtime/json/writer.h"
#include "runtime/service/volume_json.h"
#include "runtime/store/stored_time.h"
#include "server/api/decode.h"
#include "server/api/query.h"
#include "server/api/route_groups.h"
#include "server/api/sandbox_target.h"

namespace server {
namespace {

using boost::asio::awaitable;
using runtime::Refusal;
using runtime::Volumes;

Response answer_of(const Volumes::View& volume, int status = 200) {
  runtime::json::Writer writer;
  runtime::write_volume(writer, volume);
  return json_answer(std::move(writer), status);
}

awaitable<Response> create_volume(runtime::Services services, const runtime::RequestRules* rules,
                                  Call call) {
  runtime::VolumeRequest request;
  if (auto refusal = decode_into(call.body, runtime::volume_fields(), *rules, request)) {
    co_return std::move(*refusal);
  }
  const auto made =
      co_await services.volumes->create(caller_of(call), std::move(request), call.gone);
  if (const auto* refusal = std::get_if<Refusal>(&made)) co_return problem(*refusal);
  const auto& volume = std::get<Volumes::View>(made);
  services.logger.info("volume created",
                       {{"request_id", call.head.request_id}, {"volume_id", volume.row.id}});
  Response response = answer_of(volume, 201);
  response.headers.push_back({"Location", "/v1/volumes/" + volume.row.id});
  co_return response;
}

awaitable<Response> list_volumes(runtime::Services services, Call call) {
  runtime::VolumeQuery query;
  if (auto refusal = read_query(call.query, runtime::volume_query_fields(), query)) {
    co_return std::move(*refusal);
  }
  const auto page = services.volumes->list(call.principal, query);
  runtime::json::Writer writer;
  writer.begin_object().key("volumes").begin_array();
  for (const auto& volume : page.volumes) runtime::write_volume(writer, volume);
  writer.end_array().key("next_cursor");
  if (page.has_more) {
    const auto created = page.volumes.back().row.created;
    writer.string(std::to_string(runtime::to_microseconds(created)));
  } else {
    writer.null();
  }
  writer.end_object();
  co_return json_answer(std::move(writer));
}

awaitable<Response> show_volume(runtime::Services services, Call call) {
  const auto found = services.volumes->find(call.principal, call.parameter("id"));
  if (const auto* refusal = std::get_if<Refusal>(&found)) co_return problem(*refusal);
  co_return answer_of(std::get<Volumes::View>(found));
}

awaitable<Response> change_volume(runtime::Services services, const runtime::RequestRules* rules,
                                  Call call) {
  runtime::VolumeChange change;
  if (auto refusal = decode_into(call.body, runtime::volume_change_fields(), *rules, change)) {
    co_return std::move(*refusal);
  }
  const auto changed =
      co_await services.volumes->change(caller_of(call), call.parameter("id"), std::move(change));
  if (const auto* refusal = std::get_if<Refusal>(&changed)) co_return problem(*refusal);
  const auto& volume = std::get<Volumes::View>(changed);
  services.logger.info("volume changed", {{"request_id", call.head.request_id},
                                          {"volume_id", volume.row.id},
                                          {"name", volume.row.name},
                                          {"size_mb", std::int64_t{volume.row.size_mb}}});
  co_return answer_of(volume);
}

awaitable<Response> delete_volume(runtime::Services services, Call call) {
  const auto refused = co_await services.volumes->remove(caller_of(call), call.parameter("id"));
  if (refused) co_return problem(*refused);
  services.logger.info("volume deleted",
                       {{"request_id", call.head.request_id}, {"volume", call.parameter("id")}});
  co_return no_content();
}

// The answer where the operator has no place for volumes.
awaitable<Response> refuse_volumes(Call) { co_return problem(Volumes::off()); }

}  // namespace

void add_volume_routes(const RouteParts& parts) {
  using Versions = Route::Versions;
  const auto unless_off = [&parts](RouteHandler handle) {
    return parts.services.volumes == nullptr ? RouteHandler(refuse_volumes) : std::move(handle);
  };
  parts.table.add({"POST", "/v1/volumes", Access::key(Scope::sandboxes), Cost::record,
                   unless_off(bound(create_volume, parts.services, &parts.rules)), QueryNames(),
                   Versions::plain});
  parts.table.add({"GET", "/v1/volumes", Access::key(Scope::read), Cost::record,
                   unless_off(bound(list_volumes, parts.services)),
                   runtime::names_of(runtime::volume_query_fields()), Versions::plain});
  parts.table.add({"GET", "/v1/volumes/{id}", Access::key(Scope::read), Cost::record,
                   unless_off(bound(show_volume, parts.services)), QueryNames(), Versions::plain});
  parts.table.add({"PATCH", "/v1/volumes/{id}", Access::key(Scope::sandboxes), Cost::record,
                   unless_off(bound(change_volume, parts.services, &parts.rules)), QueryNames(),
                   Versions::plain});
  parts.table.add({"DELETE", "/v1/volumes/{id}", Access::key(Scope::sandboxes), Cost::record,
                   unless_off(bound(delete_volume, parts.services)), QueryNames(),
                   Versions::plain});
}

}  // namespace server
