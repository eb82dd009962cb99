// One HTTPS call on the thread of its caller, which blocks meanwhile and passes the reply on as it
// comes: for a caller that stands between somebody else and the outside world.
#pragma once

#include <sys/socket.h>

#include <chrono>
#include <cstdint>
#include <functional>
#include <string>
#include <string_view>

#include "runtime/llm/http_client.h"

namespace runtime::llm {

struct StreamedRequest {
  std::string method;
  std::string origin;   // https://HOST:PORT, which alone decides where the request goes
  std::string target;   // a path and perhaps a query, sent as it is
  HttpHeaders headers;  // neither Host nor one that frames the message
  std::string body;
};

struct StreamedOptions {
  std::string ca_file = {};  // PEM; trusted in place of the system's authorities. Empty: these
  std::chrono::milliseconds connect_timeout{10'000};
  std::chrono::seconds idle{300};  // a reply of which nothing comes for this long is given up
  std::chrono::seconds longest{3600};
  std::uint64_t max_reply_bytes = 1u << 30;
  // Decides whether an address, which the origin names or its name resolves to, may be connected
  // to. Called right before connecting.
  std::function<bool(const sockaddr&)> may_connect;
  // Called with the address once the server's certificate is accepted, before anything is sent.
  std::function<void(std::string_view)> on_connected;
  // Called once, when the head is complete. Returning false abandons the call.
  std::function<bool(int status, const HttpHeaders&)> on_head;
  // Called with each part of the body; may block. Returning false abandons the call.
  std::function<bool(std::string_view)> on_body;
  // Watched while the call waits: when this descriptor becomes readable, is_wanted decides whether
  // the call goes on.
  int watched = -1;
  std::function<bool()> is_wanted;
};

enum class StreamedEnd : std::uint8_t {
  complete,
  abandoned,  // by a callback
  forbidden,  // may_connect refused every reachable address
  unknown_name,
  unreachable,
  untrusted,  // its certificate is not accepted
  timed_out,
  interrupted,  // its connection ended before the reply did
  too_large,
  impossible,  // the request cannot be set up
};

// Follows no redirect, keeps no connection, and ignores the environment. A call that is abandoned
// while its name is looked up returns when that look-up has ended.
StreamedEnd make_streamed_call(const StreamedRequest& request, const StreamedOptions& options);

}  // namespace runtime::llm
