#include "child/terminal.h"

#include <fcntl.h>
#include <sys/ioctl.h>
#include <sys/syscall.h>

#include "child/raw_syscall.h"

namespace jail::child {

long open_terminal(int terminals, const wire::Order& order, Terminal& terminal) {
  const long master =
      raw::call(SYS_openat, terminals, raw::address("ptmx"), O_RDWR | O_NOCTTY | O_CLOEXEC);
  if (master < 0) return master;
  const int unlocked = 0;
  const winsize size{order.rows, order.columns, 0, 0};
  long done = raw::call(SYS_ioctl, master, TIOCSPTLCK, raw::address(&unlocked));
  if (done == 0) done = raw::call(SYS_ioctl, master, TIOCSWINSZ, raw::address(&size));
  if (done == 0) done = raw::call(SYS_ioctl, master, TIOCGPTPEER, O_RDWR | O_NOCTTY | O_CLOEXEC);
  if (done < 0) {
    raw::call(SYS_close, master);
    return done;
  }
  terminal = {static_cast<int>(master), static_cast<int>(done)};
  return 0;
}

}  // namespace jail::child
