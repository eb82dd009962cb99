// The routes of the Model Context Protocol: one for all sandboxes, and one for a single sandbox.
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "server/api/guard.h"
#include "server/api/route_groups.h"
#include "server/mcp/mcp.h"

namespace server {
namespace {

using boost::asio::awaitable;

using HostNames = std::vector<std::string>;

std::optional<Response> check_origin(const Call& call, const HostNames& allowed_hosts) {
  if (is_own_origin(call.head, allowed_hosts)) return std::nullopt;
  return problem(RefusalCode::other_site, "Origin: a page of another site");
}

// `sandbox` is the id of the sandbox in which all tools work; empty: all tools are available.
awaitable<Response> answer(std::shared_ptr<const Mcp> mcp, Call call, std::string sandbox) {
  const McpHeaders headers{.version = call.head.header("MCP-Protocol-Version"),
                           .method = call.head.header("Mcp-Method"),
                           .name = call.head.header("Mcp-Name")};
  runtime::Caller caller = caller_of(call);
  auto answer = co_await mcp->answer(std::move(caller), std::move(call.body), headers, call.gone,
                                     std::move(sandbox));
  Response response;
  response.status = answer.status;
  response.body = std::move(answer.body);
  if (response.body.empty()) response.content_type.clear();
  co_return response;
}

awaitable<Response> answer_for_all(std::shared_ptr<const Mcp> mcp, const HostNames* allowed_hosts,
                                   Call call) {
  if (auto refusal = check_origin(call, *allowed_hosts)) co_return std::move(*refusal);
  co_return co_await answer(std::move(mcp), std::move(call), std::string());
}

awaitable<Response> answer_for_one(runtime::Services services, std::shared_ptr<const Mcp> mcp,
                                   const HostNames* allowed_hosts, Call call) {
  if (auto refusal = check_origin(call, *allowed_hosts)) co_return std::move(*refusal);
  const auto found = services.sandboxes->find_living(call.principal, call.parameter("name"));
  if (const auto* refusal = std::get_if<runtime::Refusal>(&found)) co_return problem(*refusal);
  std::string id = std::get<runtime::Sandboxes::Found>(found)->id();
  co_return co_await answer(std::move(mcp), std::move(call), std::move(id));
}

}  // namespace

void add_mcp_routes(const RouteParts& parts) {
  const auto mcp = std::make_shared<const Mcp>(parts.services, parts.rules, parts.version);
  parts.table.add({"POST", "/mcp", Access::any_key(), Cost::program,
                   bound(answer_for_all, mcp, &parts.allowed_hosts), QueryNames(),
                   Route::Versions::plain});
  parts.table.add({"POST", "/sandbox/{name}/mcp", Access::any_key(), Cost::program,
                   bound(answer_for_one, parts.services, mcp, &parts.allowed_hosts), QueryNames(),
                   Route::Versions::plain});
}

}  // namespace server
