// One request of a program in a sandbox, passed on with its secrets, and the reply to it.
#pragma once

#include "runtime/secrets/secret_gateway.h"

namespace runtime {

// Blocks until the exchange is over, or the connection is cut.
void serve_guest(SecretGateway::Connection& connection);

}  // namespace runtime
