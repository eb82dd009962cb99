// Sandboxes whose callers expect a name to be made for them.
#pragma once

#include <boost/asio/awaitable.hpp>

#include "runtime/service/sandboxes.h"

namespace runtime {

// Sandboxes::create(). One without a name gets "sandbox-TEMPLATE-SECONDS", the seconds since 1970,
// with a number behind it where another of the caller's has that name. `sandboxes` outlives it.
boost::asio::awaitable<Sandboxes::Or<Sandboxes::Found>> create_named(Sandboxes& sandboxes,
                                                                     Caller caller,
                                                                     SandboxRequest request);

}  // namespace runtime
