// The way in which coroutines of this folder wait: an error is a value in the result, not an
// exception.
#pragma once

#include <boost/asio/as_tuple.hpp>
#include <boost/asio/use_awaitable.hpp>

namespace server {

inline constexpr auto as_values = boost::asio::as_tuple(boost::asio::use_awaitable);

}  // namespace server
