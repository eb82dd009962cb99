// HTTP calls on the thread of whoever makes them, who waits for them and for descriptors of his own
// in one place: for commands that are a client. What serves many at once has http_client.h.
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
  // Handed the body of a reply with a status of 2xx as it comes, which is then not kept. False ends
  // the call as `interrupted`. Must neither begin a call nor let go of one.
  std::function<bool(std::string_view)> on_body = {};
  // The body of the request, in place of HttpRequest::body: writes the next bytes into the span and
  // returns how many; 0: that was all; nothing: it cannot be read, which ends the call as
  // `interrupted`. May block.
  std::function<std::optional<std::size_t>(std::span<char>)> next_piece = {};
  // How many next_piece gives; without it the body goes in chunks.
  std::optional<std::uint64_t> body_bytes = {};
};

class PolledHttp;

// One call that was begun. Who lets go of it before it has ended closes its connection. Outlived by
// its PolledHttp.
class PolledCall {
 public:
  ~PolledCall();
  PolledCall(const PolledCall&) = delete;
  PolledCall& operator=(const PolledCall&) = delete;

  // Null: it goes on.
  const HttpOutcome* outcome() const noexcept { return outcome_ ? &*outcome_ : nullptr; }

 private:
  friend class PolledHttp;
  struct Transfer;
  explicit PolledCall(std::unique_ptr<Transfer> transfer);

  std::optional<HttpOutcome> outcome_;
  const std::unique_ptr<Transfer> transfer_;
};

struct PolledHttpOptions {
  std::string socket_path;  // of a Unix socket to which all calls go; empty: where their URLs say
  std::string user_agent = "agent-sandbox";
  std::size_t max_reply_bytes = 32u << 20;  // of a body that is kept
};

// Not thread-safe. Keeps connections between calls, follows no redirect and uses no proxy, whatever
// the environment says: a key does not travel. Calls have no deadline but that of connecting.
// The constructor throws std::system_error when there is no memory left.
class PolledHttp {
 public:
  explicit PolledHttp(PolledHttpOptions options = {});
  ~PolledHttp();
  PolledHttp(const PolledHttp&) = delete;
  PolledHttp& operator=(const PolledHttp&) = delete;

  // Makes progress by wait() alone. One that cannot be sent has ended already.
  std::unique_ptr<PolledCall> begin(HttpRequest request, PolledOptions options = {});

  // Returns when a call has made progress or has ended, when one of `others` is ready, which its
  // `revents` say, and now and then without a reason.
  void wait(std::span<pollfd> others = {});

 private:
  friend class PolledCall;
  struct Multi;

  const PolledHttpOptions options_;
  const std::unique_ptr<Multi> multi_;
};

}  // namespace runtime::llm
