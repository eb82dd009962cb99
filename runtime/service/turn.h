// Waits in a coroutine for a place of an Admission.
#pragma once

#include <boost/asio/awaitable.hpp>
#include <optional>
#include <string>

#include "runtime/sandbox/admission.h"
#include "runtime/sandbox/cancel.h"

namespace runtime {

// Returns a place on behalf of `owner`; std::nullopt where too many wait, or `cancel` was requested
// meanwhile. `places` must outlive the result.
boost::asio::awaitable<std::optional<Admission::Place>> place_of(Admission& places,
                                                                 std::string owner,
                                                                 Cancel cancel = Cancel());

}  // namespace runtime
