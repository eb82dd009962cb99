// HTTP calls on the thread of their caller, who waits for them and for other descriptors in one
// place: for commands that act as clients. Code that makes many calls at once uses http_client.h.
#pragma once

#include <poll.h>

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "runtime/llm/http_client.h"

namespace runtime::llm {

struct PolledOptions {
  // Gets the body of a reply with a status of 2xx as it comes; the body is then not kept. Returning
  // false ends the call as `interrupted`. Must neither begin a call nor destroy one.
  std::function<bool(std::string_view)> on_body = {};
  // Supplies the body of the request, in place of HttpRequest::body: writes the next bytes into the
  // span and returns how many; 0: the end; std::nullopt: it cannot be read, which ends the call as
  // `interrupted`. May block.
  std::function<std::optional<std::size_t>(std::span<char>)> next_piece = {};
  // The number of bytes that next_piece supplies; without it the body is sent in chunks.
  std::optional<std::uint64_t> body_bytes = {};
};

class PolledHttp;

// One call under way. Destroying it before it has ended closes its connection. Its PolledHttp must
// outlive it.
class PolledCall {
 public:
  ~PolledCall();
  PolledCall(const PolledCall&) = delete;
  PolledCall& operator=(const PolledCall&) = delete;

  // Returns null while the call goes on.
  const HttpOutcome* outcome() const noexcept { return outcome_ ? &*outcome_ : nullptr; }

 private:
  friend class PolledHttp;
  struct Transfer;
  explicit PolledCall(std::unique_ptr<Transfer> transfer);

  std::optional<HttpOutcome> outcome_;
  const std::unique_ptr<Transfer> transfer_;
};

// A connection to the server of a URL, over which the caller speaks another protocol than libcurl
// does. Destroying it closes it. Its PolledHttp must outlive it.
class PolledStream {
 public:
  ~PolledStream();
  PolledStream(const PolledStream&) = delete;
  PolledStream& operator=(const PolledStream&) = delete;

  enum class State : std::uint8_t { connecting, connected, failed };
  State state() const noexcept { return state_; }
  // Why it could not be connected.
  const HttpFault& fault() const noexcept { return fault_; }

  // The following functions must be called while it is connected. Neither of them waits.
  // To wait for by PolledHttp::wait(), after everything was read that is there.
  int fd() const;
  enum class Outcome : std::uint8_t { done, nothing_yet, ended };
  struct Progress {
    Outcome outcome = Outcome::ended;
    std::size_t bytes = 0;  // where it is done
  };
  Progress read(std::span<char> room);
  Progress write(std::string_view bytes);

 private:
  friend class PolledHttp;
  struct Link;
  explicit PolledStream(std::unique_ptr<Link> link);

  State state_ = State::connecting;
  HttpFault fault_;
  const std::unique_ptr<Link> link_;
};

struct PolledHttpOptions {
  std::string socket_path;  // path of a Unix socket for all calls; empty: their URLs decide
  std::string user_agent = "agent-sandbox";
  std::size_t max_reply_bytes = 32u << 20;  // bound on a body that is kept
};

// Not thread-safe. Keeps connections between calls, follows no redirect and uses no proxy, whatever
// the environment says, so a key is never sent elsewhere. Calls have no deadline except for
// connecting. The constructor throws std::system_error when there is no memory left.
class PolledHttp {
 public:
  explicit PolledHttp(PolledHttpOptions options = {});
  ~PolledHttp();
  PolledHttp(const PolledHttp&) = delete;
  PolledHttp& operator=(const PolledHttp&) = delete;

  // Begins a call, which makes progress only in wait(). A request that cannot be sent has ended
  // already.
  std::unique_ptr<PolledCall> begin(HttpRequest request, PolledOptions options = {});

  // Begins to connect, with TLS where the URL says so.
  std::unique_ptr<PolledStream> connect(const std::string& url);

  // Returns when a call has made progress or has ended, when one of `others` is ready, which its
  // `revents` then say, and sometimes without a reason.
  void wait(std::span<pollfd> others = {});

 private:
  friend class PolledCall;
  friend class PolledStream;
  struct Handle;
  struct Multi;

  const PolledHttpOptions options_;
  const std::unique_ptr<Multi> multi_;
};

}  // namespace runtime::llm
