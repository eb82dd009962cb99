// Sandboxes for callers that expect a generated name.
#pragma once

#include <boost/asio/awaitable.hpp>

#include "runtime/service/sandboxes.h"

namespace runtime {

// Calls Sandboxes::create(). A sandbox without a name gets "sandbox-TEMPLATE-SECONDS", the seconds
// since 1970, with a number appended where another sandbox of the caller has that name. `sandboxes`
// must outlive the call.
boost::asio::awaitable<Sandboxes::Or<Sandboxes::Found>> create_named(Sandboxes& sandboxes,
                                                                     Caller caller,
                                                                     SandboxRequest request);

}  // namespace runtime
