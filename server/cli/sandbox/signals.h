// Signals that end a command or tell of a new size of the terminal, taken where the command waits.
#pragma once

#include <cstdint>
#include <string_view>

#include "jail/fd.h"
#include "jail/result.h"

namespace server::client {

// Not thread-safe. Made while there is only one thread, since it blocks the signals for all that
// come later, and for the rest of the process's life: what came once is never delivered.
class Signals {
 public:
  // SIGINT, SIGTERM, SIGQUIT and SIGHUP, the last where nobody ignores it, and SIGWINCH.
  static jail::Result<Signals> block();

  // Readable where one came.
  int fd() const noexcept { return fd_.get(); }
  // Takes those that came; never waits.
  void read();
  // The first that was to end us, as far as it was read; 0: none.
  int ending() const noexcept { return ending_; }
  // Whether the terminal may have another size since this was asked last.
  bool take_resized() noexcept;

  // False with errno: EINTR where a signal came that is to end us, before all was written. A
  // descriptor that takes nothing is waited for.
  bool write_all(int fd, std::string_view bytes);
  // Waits until `fd` can be read; false: a signal came that is to end us.
  bool wait_for_input(int fd);

 private:
  explicit Signals(jail::Fd fd) : fd_(std::move(fd)) {}
  bool wait_for(int fd, short events);

  jail::Fd fd_;
  int ending_ = 0;
  bool resized_ = false;
};

}  // namespace server::client
