#include "egress/flow.h"

#include <errno.h>
#include <sys/socket.h>

#include <algorithm>
#include <string_view>

namespace jail::egress {

bool Flow::send(Side& to, std::string_view bytes, std::size_t& taken) {
  taken = 0;
  while (to.writable && taken < bytes.size()) {
    const ssize_t sent =
        ::send(to.fd.get(), bytes.data() + taken, bytes.size() - taken, MSG_NOSIGNAL);
    if (sent < 0 && errno == EINTR) continue;
    if (sent < 0 && errno == EAGAIN) {
      to.writable = false;
    } else if (sent < 0) {
      return false;
    } else {
      taken += static_cast<std::size_t>(sent);
      moved_ += static_cast<std::size_t>(sent);
    }
  }
  return true;
}

Flow::State Flow::flush(Side& to) {
  if (sent_ == waiting_.size()) return State::over;
  std::size_t taken = 0;
  if (!send(to, std::string_view(waiting_).substr(sent_), taken)) return State::broken;
  sent_ += taken;
  if (sent_ < waiting_.size()) return State::waits;
  // The memory is freed as well: most connections have nothing that waits, most of the time.
  std::string().swap(waiting_);
  sent_ = 0;
  return State::over;
}

Flow::State Flow::pass_end(Side& to) {
  over_ = true;
  ::shutdown(to.fd.get(), SHUT_WR);
  return State::over;
}

Flow::State Flow::move(Side& from, Side& to, std::size_t budget, std::span<char> room) {
  if (over_) return State::over;
  for (;;) {
    const State flushed = flush(to);
    if (flushed == State::waits) return State::waits;
    if (flushed == State::broken) {
      // A side that takes no more bytes may still send some: the other direction goes on.
      over_ = true;
      return State::over;
    }
    if (ended_) return pass_end(to);
    if (!from.readable) return State::waits;
    if (budget == 0) return State::more;
    const std::size_t most = std::min(room.size(), budget);
    const ssize_t got = ::recv(from.fd.get(), room.data(), most, 0);
    if (got < 0 && errno == EINTR) continue;
    if (got < 0 && errno == EAGAIN) {
      from.readable = false;
      return State::waits;
    }
    if (got < 0) return State::broken;
    if (got == 0) {
      ended_ = true;
      continue;
    }
    const std::string_view bytes(room.data(), static_cast<std::size_t>(got));
    budget -= bytes.size();
    std::size_t taken = 0;
    if (!send(to, bytes, taken)) {
      over_ = true;
      return State::over;
    }
    waiting_ = bytes.substr(taken);
  }
}

}  // namespace jail::egress
