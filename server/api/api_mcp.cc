// The route of the Model Context Protocol.
#include <memory>
#include <utility>

#include "server/api/guard.h"
#include "server/api/route_groups.h"
#include "server/mcp/mcp.h"

namespace server {
namespace {

using boost::asio::awaitable;

awaitable<Response> answer_message(std::shared_ptr<const Mcp> mcp,
                                   const std::vector<std::string>* allowed_hosts, Call call) {
  if (!is_own_origin(call.head, *allowed_hosts)) {
    co_return problem(403, "Origin: a page of another site");
  }
  const McpHeaders headers{.version = call.head.header("MCP-Protocol-Version"),
                           .method = call.head.header("Mcp-Method"),
                           .name = call.head.header("Mcp-Name")};
  runtime::Caller caller = caller_of(call);
  auto answer = co_await mcp->answer(std::move(caller), std::move(call.body), headers, call.gone);
  Response response;
  response.status = answer.status;
  response.body = std::move(answer.body);
  if (response.body.empty()) response.content_type.clear();
  co_return response;
}

}  // namespace

void add_mcp_route(RouteTable& table, const runtime::Services& services,
                   const runtime::RequestRules& rules, const std::string& version,
                   const std::vector<std::string>& allowed_hosts) {
  const auto mcp = std::make_shared<const Mcp>(services, rules, version);
  table.add({"POST", "/mcp", Access::key, Cost::program, bound(answer_message, mcp, &allowed_hosts),
             QueryNames(), Route::Versions::plain});
}

}  // namespace server
