// HTTP to the outside world: a request out, its reply back, as it comes or whole.
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
  std::string body;     // all of it, also when it was handed out as it came

  // The first of that name, which is in lower case; null: there is none.
  const std::string* header(std::string_view name) const noexcept;
};

// Why there is no reply. A status like 500 is a reply.
struct HttpFault {
  enum Kind : std::uint8_t {
    unreachable,  // nobody there, refused, not who it should be, or the request cannot be sent
    timed_out,    // FetchOptions::deadline
    interrupted,  // the connection ended before the reply did
    too_large,    // HttpClientOptions::max_reply_bytes, max_head_bytes, or too many header lines
    cancelled,    // by FetchOptions::cancel, or because the client goes
    forbidden,    // HttpClientOptions::may_connect says no to every address that could be reached
  };
  Kind kind = unreachable;
  std::string text;  // for a person; names the server, never a path, a header or a key
  int status = 0;    // of the reply that came in part; 0: not even that
  bool body_began = false;
};

using HttpOutcome = std::variant<HttpReply, HttpFault>;

struct HttpClientOptions {
  std::string ca_file;  // PEM; trusted in place of the system's authorities. Empty: the system's
  std::string proxy;    // URL. Empty: none, whatever the environment says
  std::string user_agent = "agent-sandbox";
  std::chrono::milliseconds connect_timeout{15'000};
  std::size_t max_reply_bytes = 32u << 20;
  // This bounds all heads of a reply together, those that say 1xx as well, and its trailers. The
  // number of their lines is bounded, too, since each line costs more than its bytes.
  std::size_t max_head_bytes = 256u << 10;
  // A reply is its status and its headers: it is there once its head is, and what follows is
  // neither kept nor waited for, so FetchOptions::on_body is never called. The connection is kept
  // where the rest came together with the head.
  bool heads_only = false;
  // Whether an address may be connected to that a URL names, or its name leads to; asked on the
  // network's thread, right before that is done. Empty: all.
  std::function<bool(const sockaddr&)> may_connect = {};
};

struct FetchOptions {
  std::chrono::steady_clock::time_point deadline;  // must be given
  // Its hook is taken while the fetch lasts.
  Cancel cancel;
  // Called in the coroutine that awaits the fetch, with what has come of the body since. Empty:
  // only the whole is wanted.
  std::function<void(int status, std::string_view)> on_body;
  // Asked after on_body. Once it says yes the end of the reply is waited for a moment only, in
  // which most connections are ready for the next call; without it the reply has no headers. Empty:
  // never.
  std::function<bool()> has_enough;
};

class CurlLoop;

// Thread-safe: awaited on any executor, on as many at once as there are. Keeps connections between
// calls. Redirects are replies like others: an API key does not travel.
// Its end makes every call that still runs `cancelled`, which its coroutine then learns on its own
// executor; who destroys it waits for the network to be quiet. Outlived by the executors of whoever
// awaits it. The constructor throws std::system_error when the host has no descriptors or threads
// left.
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
