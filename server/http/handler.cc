#include "server/http/handler.h"

namespace server {

boost::asio::awaitable<void> Handler::upgrade(Socket, Request, BodyBudget&, runtime::Cancel) {
  co_return;
}

}  // namespace server
