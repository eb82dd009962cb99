// One connection of a local program to a port of a sandbox, through the server.
#pragma once

#include <poll.h>

#include <array>
#include <cstddef>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "jail/fd.h"
#include "runtime/llm/polled_http.h"
#include "server/cli/sandbox/server_client.h"
#include "server/cli/sandbox/websocket_frames.h"

namespace server::client {

// Neither side is read faster than the other one takes it. Not thread-safe.
class Tunnel {
 public:
  // `local` is the program's connection, non-blocking; `path` that of the tunnel, with its query.
  // `client` must outlive it.
  Tunnel(ServerClient& client, jail::Fd local, const std::string& path);
  // Breaks it off on both sides, unless it is over.
  ~Tunnel();
  Tunnel(const Tunnel&) = delete;
  Tunnel& operator=(const Tunnel&) = delete;

  // What to wait for before the next move().
  std::array<pollfd, 2> awaited() const;
  // Passes on what there is, without waiting for anything.
  void move();

  bool is_over() const noexcept { return state_ == State::over; }
  // Why it ended, where it did not end as connections do; empty: there is nothing to say.
  const std::string& complaint() const noexcept { return complaint_; }

 private:
  enum class State : std::uint8_t {
    connecting,
    asking,    // for the WebSocket
    open,      // bytes go both ways
    draining,  // the server has closed it; the program takes what came before
    over
  };

  bool connect();
  bool ask();
  void take_answer();
  bool read_server();
  void take_pieces();
  void take_close(const FrameReader::Piece& piece);
  bool write_server();
  bool read_local();
  bool write_local();
  // Ends it so that the program sees that its connection broke off.
  void break_off(std::string complaint);
  void finish();

  ServerClient& client_;
  jail::Fd local_;
  const std::string path_;
  const std::string key_;
  std::unique_ptr<runtime::llm::PolledStream> stream_;
  State state_ = State::connecting;
  std::string head_;         // of the server's answer, and what came behind it
  std::string from_server_;  // frames that were not looked at yet
  std::string to_server_;
  std::string to_local_;
  // What the last ping says. The others need no answer (RFC 6455, 5.5.3), and the bytes of a server
  // that takes nothing are read nevertheless: it may wait until we have taken what it sends.
  std::optional<std::string> unanswered_ping_;
  FrameReader frames_;
  bool server_has_ended_ = false;  // each side has said that it sends no more
  bool local_has_ended_ = false;
  bool has_more_ = false;   // to pass on, without waiting
  bool is_shut_ = false;    // the program was told so
  bool is_broken_ = false;  // the program must see that it broke off, after what came before
  std::string complaint_;
};

}  // namespace server::client
