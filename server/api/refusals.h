// Why an operation was not done, as an HTTP response.
#pragma once

#include "runtime/service/refusal.h"
#include "server/http/message.h"

namespace server {

// A 4xx, 500, 503 or 507 with the refusal's code.
Response response_of(const runtime::Refusal& refusal);

}  // namespace server
