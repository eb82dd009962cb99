// The vocabulary for describing system calls: the kinds of their arguments, what they make, how
// often they are chosen.
#pragma once

#include <cstddef>
#include <cstdint>

namespace sequences {

enum class Kind : std::uint8_t {
  none,
  choice,           // one of `values`
  choices,          // some of `values`, all at once
  descriptor,       // usually one that an earlier call has made
  file,             // the same, for a file,
  socket,           // for a socket,
  waiter,           // or for objects that wait: epoll, timerfd
  directory,        // the same, or AT_FDCWD
  new_descriptor,   // a number for a new one
  descriptor_pair,  // room for two descriptors that the call makes
  path,
  program,    // a path to execute
  arguments,  // argv or envp
  buffer,     // bytes to read or room to write
  length,     // length of a buffer
  structure,  // a small buffer whose bytes have no meaning
  number,     // a small one
  offset,     // in a file
  offset_pointer,
  vectors,         // iovec[]
  address,         // in memory that may be mapped, unmapped and protected
  address_length,  // usually in whole pages
  mapping_flags,
  time,      // timespec or timeval: short
  interval,  // itimerspec or itimerval: short
  process,   // a number other than that of the generator itself
  signal,
  signal_set,
  signal_set_pointer,  // the set and its size, for pselect6
  action,
  signal_stack,
  set_size,  // the size that the kernel requires for a signal_set
  socket_address,
  socket_length,
  length_pointer,
  message,       // msghdr
  messages,      // mmsghdr[]
  option_level,  // level of a socket option, its name and its value
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

// The later use of a result.
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

// How often a call is chosen: calls that end or delay a sequence are chosen less often, calls that
// reach for something four times as often as others.
enum class Chosen : std::uint8_t { often, seldom, most };

struct Description {
  const char* name;
  long number;
  Argument arguments[6];
  Makes makes = Makes::nothing;
  Chosen chosen = Chosen::often;
};

}  // namespace sequences
