// A connection of either kind: TCP or Unix.
#pragma once

#include <boost/asio/generic/stream_protocol.hpp>

namespace server {

using Socket = boost::asio::generic::stream_protocol::socket;

}  // namespace server
