#include "server/http/handler.h"

namespace server {

boost::asio::awaitable<void> Handler::upgrade(Socket, Request, BodyBudget&, std::stop_token) {
  co_return;
}

}  // namespace server
