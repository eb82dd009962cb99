// POST /benchmark.
#include <utility>

#include "server/api/api.h"
#include "server/api/decode_benchmark.h"

namespace server {

boost::asio::awaitable<Response> Api::benchmark(RequestHead, std::string body, std::stop_token) {
  auto decoded = decode_benchmark(body, options_.execute);
  if (auto* refusal = std::get_if<Response>(&decoded)) co_return std::move(*refusal);
  co_return problem(503, "not there");
}

}  // namespace server
