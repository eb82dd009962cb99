// Waits for a place of an Admission in a coroutine.
#pragma once

#include <boost/asio/awaitable.hpp>
#include <optional>
#include <string>

#include "runtime/sandbox/admission.h"

namespace runtime {

// A place for who asks in the name of `owner`. Nothing: too many wait. `places` outlives what is
// returned.
boost::asio::awaitable<std::optional<Admission::Place>> place_of(Admission& places,
                                                                 std::string owner);

}  // namespace runtime
