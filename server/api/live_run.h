// Runs the request and sends each step as an event.
#pragma once

#include <boost/asio/awaitable.hpp>
#include <memory>
#include <optional>

#include "runtime/refusals/refusal.h"
#include "runtime/sandbox/cancel.h"
#include "runtime/service/services.h"
#include "server/api/decode.h"
#include "server/api/live_events.h"

namespace server {

// Returns at the end, after the last event: for a program `execution_result`, whose data is what
// POST /execute answers, and `complete`; for a task `complete` with that answer. A refusal says why
// nothing was run, and is not an event yet. Runs on the executor of `events`.
boost::asio::awaitable<std::optional<runtime::Refusal>> run_live(
    runtime::Services services, runtime::Caller caller, ExecuteRequest request,
    runtime::Cancel cancel, std::shared_ptr<LiveEvents> events);

}  // namespace server
