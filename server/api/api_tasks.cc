// POST /execute with `task`.
#include <utility>

#include "server/api/api.h"
#include "server/api/tasks.h"

namespace server {

boost::asio::awaitable<Response> Api::execute_task(RequestHead head,
                                                   runtime::agent::TaskRequest request,
                                                   std::stop_token gone) {
  runtime::agent::TaskOptions options;
  const std::stop_callback on_gone(gone, [cancel = options.cancel] { cancel.request(); });
  auto ran = co_await run_task(services_, asker_of(head), make_job(), std::move(request),
                               std::move(options));
  if (auto* refusal = std::get_if<Response>(&ran)) co_return std::move(*refusal);
  Response response;
  response.body = std::move(std::get<RanTask>(ran).result);
  co_return response;
}

}  // namespace server
