// Runs what a request asks for and tells each step as an event.
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

// Until it is over, with its last event: of a program `execution_result`, whose data is what
// POST /execute answers, and `complete`; of a task `complete` with that. A refusal says why it was
// not done, which is no event yet. On the executor of `events`.
boost::asio::awaitable<std::optional<runtime::Refusal>> run_live(
    runtime::Services services, runtime::Caller caller, ExecuteRequest request,
    runtime::Cancel cancel, std::shared_ptr<LiveEvents> events);

}  // namespace server
