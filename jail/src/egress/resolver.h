// Look-ups without waiting: queues the names of all jails for the process that looks names up.
#pragma once

#include <array>
#include <cstdint>
#include <deque>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "egress/wire.h"
#include "jail/fd.h"

namespace jail::egress {

// A name server of a jail's own choice may take as long as it likes, so no jail has more than half
// of the look-ups that go on at once, and those that ask are served in turn.
class Resolver {
 public:
  struct Resolved {
    std::uint64_t ticket;
    Found found;
  };
  static constexpr std::size_t at_once_per_jail = 2;
  static constexpr std::size_t max_waiting = 4096;

  // The process that looks names up (look_up.h) holds the other end of `socket`.
  explicit Resolver(Fd socket) : socket_(std::move(socket)) {}
  Resolver(const Resolver&) = delete;

  // Readable when answers wait, or no more will come.
  int event_fd() const { return socket_.get(); }

  // `ticket` comes back in the answer. Returns false where too many wait.
  bool ask(std::uint64_t ticket, std::uint64_t jail, std::string name);
  // Withdraws a question. One that is under way is still answered.
  void drop(std::uint64_t ticket, std::uint64_t jail);
  // Returns all answers that have come, or std::nullopt where nobody looks names up any more or an
  // answer does not match a question.
  std::optional<std::vector<Resolved>> answers();

 private:
  struct Waiting {
    std::uint64_t ticket;
    std::string name;
  };
  struct Queue {
    std::deque<Waiting> waiting;
    std::size_t running = 0;
  };
  struct Running {
    std::uint64_t ticket;
    std::uint64_t jail;
  };

  void begin_some();
  // The jail whose turn it is; end() where no jail has a name that may be looked up now.
  std::map<std::uint64_t, Queue>::iterator next();
  std::optional<Resolved> finish(Answer answer);

  Fd socket_;
  std::map<std::uint64_t, Queue> queues_;  // by jail; no queue is empty
  std::array<std::optional<Running>, look_ups_at_once> slots_;
  std::uint64_t last_served_ = 0;
  std::size_t waiting_ = 0;
};

}  // namespace jail::egress
