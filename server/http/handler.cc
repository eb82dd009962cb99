#include "server/http/handler.h"

namespace server {

boost::asio::awaitable<void> Handler::take_over(Socket, RequestHead, BodyBudget&, std::stop_token) {
  co_return;
}

}  // namespace server
