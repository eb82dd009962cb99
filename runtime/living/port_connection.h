// Connections to servers that run in a sandbox.
#pragma once

#include <boost/asio/awaitable.hpp>
#include <chrono>
#include <cstdint>
#include <memory>

#include "jail/fd.h"
#include "jail/result.h"
#include "runtime/living/living_sandbox.h"
#include "runtime/sandbox/cancel.h"

namespace runtime {

struct PortConnection {
  std::shared_ptr<void> place{};  // from LivingSandbox::take_port_place()
  jail::Fd socket{};              // connected, non-blocking
};

// Connects to 127.0.0.1 of the sandbox, and where nobody listens there to its ::1. No port of the
// host is opened: the socket belongs to the sandbox's network. The kernel's buffers of both
// directions are bounded. Errors: refused (nobody listens); timed_out (the server does not accept
// within `patience`); closed (the sandbox has ended, or `cancel` was requested); exhausted without
// an errno (there are as many connections as there may be); exhausted, kernel.
boost::asio::awaitable<jail::Result<PortConnection>> connect_to_port(
    std::shared_ptr<LivingSandbox> sandbox, std::uint16_t port,
    LivingSandbox::Attendance attendance, std::chrono::milliseconds patience, Cancel cancel);

// For a caller that has seen a connection end: returns false where it may have ended because the
// sandbox does, in which case LivingSandbox::over() follows, or `cancel` was requested. Asks the
// first process of the sandbox, for at most `patience`: when the kernel kills all of them, it
// reports the end of that one last, but that one answers no more.
boost::asio::awaitable<bool> outlives_its_connection(std::shared_ptr<LivingSandbox> sandbox,
                                                     std::chrono::milliseconds patience,
                                                     Cancel cancel);

}  // namespace runtime
