// An HTTP client: sends a request and returns its reply, as it comes or as a whole.
#pragma once

#include <sys/socket.h>

#include <boost/asio/awaitable.hpp>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include "runtime/sandbox/cancel.h"

namespace runtime::llm {

using HttpHeaders = std::vector<std::pair<std::string, std::string>>;

struct HttpRequest {
  std::string method = "GET";
  std::string url;  // absolute, http or https
  HttpHeaders headers;
  std::string body;
};

struct HttpReply {
  int status = 0;
  HttpHeaders headers;  // names in lower case
  std::string body;     // all of it, also where parts were handed out as they came

  // Returns the first header of that name, which must be in lower case; null where there is none.
  const std::string* header(std::string_view name) const noexcept;
};

// The reason why there is no reply. A status such as 500 is a reply.
struct HttpFault {
  enum Kind : std::uint8_t {
    unreachable,  // not reachable, refused, not the expected server, or the request cannot be sent
    timed_out,    // FetchOptions::deadline has passed
    interrupted,  // the connection ended before the reply did
    too_large,    // beyond HttpClientOptions::max_reply_bytes, max_head_bytes, or the number of
                  // header lines
    cancelled,    // by FetchOptions::cancel, or because the client is destroyed
    forbidden,    // HttpClientOptions::may_connect refused every reachable address
  };
  Kind kind = unreachable;
  std::string text;  // for a person; names the server, but no path, header or key
  int status = 0;    // of a partial reply; 0: there was none
  bool body_began = false;
};

using HttpOutcome = std::variant<HttpReply, HttpFault>;

struct HttpClientOptions {
  std::string ca_file;  // PEM; trusted in place of the system's authorities. Empty: these
  std::string proxy;    // a URL. Empty: no proxy, whatever the environment says
  std::string user_agent = "agent-sandbox";
  std::chrono::milliseconds connect_timeout{15'000};
  std::size_t max_reply_bytes = 32u << 20;
  // Bounds all heads of a reply together, including those with a status of 1xx, and its trailers.
  // The number of their lines is bounded, too, since each line costs more than its bytes.
  std::size_t max_head_bytes = 256u << 10;
  // A reply is only its status and its headers: it is complete once its head is, and the rest is
  // neither kept nor waited for, so FetchOptions::on_body is never called. The connection is kept
  // where the rest came together with the head.
  bool heads_only = false;
  // Decides whether an address, which a URL names or its name resolves to, may be connected to.
  // Called on the network's thread, right before connecting. Empty: all may.
  std::function<bool(const sockaddr&)> may_connect = {};
};

struct FetchOptions {
  std::chrono::steady_clock::time_point deadline;  // must be given
  // Its hook is in use while the fetch lasts.
  Cancel cancel;
  // Called in the coroutine that awaits the fetch, with the new part of the body. Empty: only the
  // whole body is wanted.
  std::function<void(int status, std::string_view)> on_body;
  // Called after on_body. Once it returns true, the end of the reply is awaited for a moment only,
  // in which most connections become ready for the next call; where that end does not come, the
  // reply has no headers. Empty: never.
  std::function<bool()> has_enough;
};

class CurlLoop;

// Thread-safe: awaited on any executor, on as many at once as there are. Keeps connections between
// calls. Redirects are returned like other replies, so an API key is never sent elsewhere. The
// destructor cancels every call that still runs, which its coroutine then learns on its own
// executor, and waits until the network is quiet. The executors on which calls are awaited must
// outlive the client. The constructor throws std::system_error when the host has no descriptors or
// threads left.
class HttpClient {
 public:
  explicit HttpClient(HttpClientOptions options = {});
  ~HttpClient();
  HttpClient(const HttpClient&) = delete;
  HttpClient& operator=(const HttpClient&) = delete;

  boost::asio::awaitable<HttpOutcome> fetch(HttpRequest request, FetchOptions options);

 private:
  const std::shared_ptr<CurlLoop> loop_;
};

}  // namespace runtime::llm
