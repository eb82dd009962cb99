// Waits for a place of an Admission in a coroutine.
#pragma once

#include <boost/asio/awaitable.hpp>
#include <optional>
#include <string>

#include "runtime/sandbox/admission.h"
#include "runtime/sandbox/cancel.h"

namespace runtime {

// A place for who asks in the name of `owner`. Nothing: too many wait, or `cancel` was requested
// while this waited. `places` outlives what is returned.
boost::asio::awaitable<std::optional<Admission::Place>> place_of(Admission& places,
                                                                 std::string owner,
                                                                 Cancel cancel = Cancel());

}  // namespace runtime
