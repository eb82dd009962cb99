// Our terminal while a program in a sandbox has the other end of it.
#pragma once

#include <termios.h>

#include "jail/result.h"

namespace server::client {

// Every key goes to the program as it is typed, Ctrl-C among them; its end puts the terminal back.
class RawTerminal {
 public:
  // `fd` outlives it. Errors: ErrorKind::kernel, where it is no terminal among others.
  static jail::Result<RawTerminal> enter(int fd);
  RawTerminal(RawTerminal&& other) noexcept;
  RawTerminal& operator=(RawTerminal&&) = delete;
  ~RawTerminal() { leave(); }

  void leave() noexcept;

 private:
  RawTerminal(int fd, const termios& before) : fd_(fd), before_(before) {}

  int fd_;  // -1: has been left
  termios before_;
};

struct TerminalSize {
  int columns = 80;
  int rows = 24;
};

// 80 by 24 where it does not say, and always within 1 .. 1000, which is what servers take.
TerminalSize terminal_size(int fd);

}  // namespace server::client
