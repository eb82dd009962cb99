// Signals that end a command or tell of a new size of the terminal, taken where the command waits.
// The first that would end it may be lent to a program elsewhere, which hears it in its place.
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

  // From now on the first signal that would end us is for somebody else, who takes it; a second one
  // ends us, and so does the end of patience_with_program.
  void lend_first() noexcept { is_lending_ = true; }
  // The signal that was lent and was not taken yet; 0: none.
  int take_lent() noexcept;
  // Ends us by the signal that was lent, since it reached nobody.
  void return_lent() noexcept { ending_ = first_; }

  // Readable where one came, or where patience is over.
  int fd() const noexcept { return either_.get(); }
  // Takes those that came; never waits.
  void read();
  // The first signal that came, as far as it was read, where it is time to end; 0: it is not.
  int ending() const noexcept { return ending_; }
  // The first signal that came, also where it was lent; 0: none.
  int first() const noexcept { return first_; }
  // Whether the terminal may have another size since this was asked last.
  bool take_resized() noexcept;

  // False with errno: EINTR where a signal came that is to end us, before all was written. A
  // descriptor that takes nothing is waited for.
  bool write_all(int fd, std::string_view bytes);
  // Waits until `fd` can be read; false: a signal came that is to end us.
  bool wait_for_input(int fd);

 private:
  Signals(jail::Fd came, jail::Fd patience, jail::Fd either);
  void take(int number);
  bool wait_for(int fd, short events);

  jail::Fd came_;      // a signalfd
  jail::Fd patience_;  // a timer, set when a signal is lent
  jail::Fd either_;    // an epoll of both
  bool is_lending_ = false;
  bool is_taken_ = false;
  int first_ = 0;
  int ending_ = 0;
  bool resized_ = false;
};

}  // namespace server::client
