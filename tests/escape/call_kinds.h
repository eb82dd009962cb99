// What a system call can be described by: the kinds of its arguments, what it makes, how often it
// is chosen.
#pragma once

#include <cstddef>
#include <cstdint>

namespace sequences {

enum class Kind : std::uint8_t {
  none,
  choice,           // one of `values`
  choices,          // some of `values`, all at once
  descriptor,       // one that an earlier call has made, mostly
  file,             // the same, of a file,
  socket,           // of a socket,
  waiter,           // or of what waits: epoll, timerfd
  directory,        // the same, or AT_FDCWD
  new_descriptor,   // a number for one
  descriptor_pair,  // room for two that the call makes
  path,
  program,    // a path to execute
  arguments,  // argv or envp
  buffer,     // bytes to read or room to write
  length,     // of such
  structure,  // a small one, of bytes without a meaning
  number,     // a small one
  offset,     // in a file
  offset_pointer,
  vectors,         // iovec[]
  address,         // in memory that may be mapped, unmapped and protected
  address_length,  // in whole pages, mostly
  mapping_flags,
  time,      // timespec or timeval: short
  interval,  // itimerspec or itimerval: short
  process,   // a number that is not that of the generator itself
  signal,
  signal_set,
  signal_set_pointer,  // of pselect6: the set and its size
  action,
  signal_stack,
  set_size,  // what the kernel wants for a signal_set
  socket_address,
  socket_length,
  length_pointer,
  message,       // msghdr
  messages,      // mmsghdr[]
  option_level,  // of a socket option, its name and its value
  option_name,
  option,
  polls,  // pollfd[]
  descriptor_set,
  event,  // epoll_event, with room for more
  word,   // a futex
  words,  // futex_waitv[]
  robust_list,
  open_how,
  limits,
  scheduling,     // sched_attr
  control_value,  // third argument of fcntl, ioctl or prctl
  clone_flags,
  clone_stack,
  timer,
  event_of_timer,
  protection_key,
};

struct Argument {
  constexpr Argument(Kind of = Kind::none, const std::uint64_t* first = nullptr,
                     std::size_t many = 0)
      : kind(of), values(first), count(many) {}

  Kind kind;
  const std::uint64_t* values;
  std::size_t count;
};

// What a result is good for later.
enum class Makes : std::uint8_t {
  nothing,
  descriptor,
  file,
  socket,
  waiter,
  mapping,
  process,
  protection_key
};

// How often a call is chosen: what ends or holds up a sequence comes more seldom, what reaches for
// something comes four times as often as others.
enum class Chosen : std::uint8_t { often, seldom, most };

struct Description {
  const char* name;
  long number;
  Argument arguments[6];
  Makes makes = Makes::nothing;
  Chosen chosen = Chosen::often;
};

}  // namespace sequences
