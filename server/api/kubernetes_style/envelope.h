// Answers as the clients of this interface expect them: {"code":"0","data":...} for success,
// {"code":"500","error":"..."} for failure. The HTTP status says the same.
#pragma once

#include <string>
#include <string_view>

#include "runtime/json/writer.h"
#include "server/http/message.h"

namespace server::kubernetes_style {

// 200 with `data`, which is JSON.
Response enveloped(std::string_view data);
Response enveloped(runtime::json::Writer data);
// 200 with a text as the data.
Response enveloped_text(std::string_view text);

// A problem as an envelope, with its status and headers. Its code is "401", "413" or "429" where
// that is the status, and else "500".
Response in_envelope(const Response& problem);

}  // namespace server::kubernetes_style
