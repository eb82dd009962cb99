#include "child/terminal.h"

#include <fcntl.h>
#include <sys/ioctl.h>
#include <sys/syscall.h>

#include <initializer_list>

#include "child/channel.h"
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

long give_terminal(int control, const wire::Order& order, long* slots) {
  Terminal terminal;
  long done = open_terminal(static_cast<int>(slots[wire::slot_terminals]), order, terminal);
  if (done < 0) return done;
  wire::Message message{};
  message.type = wire::message_terminal;
  done = send_with_room(control, &message, sizeof message, terminal.master);
  raw::call(SYS_close, terminal.master);
  for (const wire::Slot slot : {wire::slot_stdin, wire::slot_stdout, wire::slot_stderr}) {
    raw::call(SYS_close, slots[slot]);
    slots[slot] = terminal.slave;
  }
  slots[wire::slot_terminal] = terminal.slave;
  return done < 0 ? done : 0;
}

}  // namespace jail::child
