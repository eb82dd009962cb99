// What the work that jails are made of costs on this host, so that figures of two hosts can be
// compared.
#pragma once

#include <string>

#include "jail/result.h"

namespace server {

// Which host it is.
struct Host {
  std::string processor;  // as the kernel names it
  long processors = 0;    // that are online
  std::string kernel;     // uname -r
};

// What one of each costs, in microseconds.
struct HostSpeed {
  double page_touched = 0;    // the first write to a page of fresh anonymous memory
  double page_copied = 0;     // the first write to a page that is shared with a forked process
  double fork = 0;            // of the process that measures, which is small; the call alone
  double context_switch = 0;  // half a round trip by pipes between two processes on one processor
  double system_call = 0;     // getppid()
};

// What a fast host with nothing else to do is taken to need: a yardstick of round figures, no
// measurement of any machine. Pages cost under 1 us each on the faster of the two kinds of hosts
// that jails were measured on; the others are of the order that lmbench (lat_proc, lat_pipe,
// lat_syscall) finds on servers.
inline constexpr HostSpeed reference_speed{
    .page_touched = 0.5, .page_copied = 0.8, .fork = 100, .context_switch = 2, .system_call = 0.1};

Host this_host();

// Takes a tenth of a second on a host ten times slower than the reference, and at most about half a
// second unless a single step is slower than 20 ms. Each figure is the median of many short
// measurements, so that a neighbour's turn on the processor spoils few of them; large pages are
// kept out of it.
//
// It forks, and for a moment binds the calling thread to one processor: to be called while there is
// only one thread. Children are reaped before it returns, whether it succeeds or not. Fails with
// ErrorKind::kernel or ::exhausted where a page, a pipe or a process cannot be had.
jail::Result<HostSpeed> measure_host_speed();

// How many times as long as on the reference the kernel's work for one warm Python jail takes. This
// prices the counts of such work; the program's own computing is not in it.
double slowness(const HostSpeed& speed);

// One line without its end: "AMD EPYC, 2 processors, Linux 6.18.44; microseconds: page touched
// 10.4, page copied 13.7, fork 580, context switch 11.2, system call 1.02; a jail's work takes 9.30
// times as long as on the reference".
std::string describe(const Host& host, const HostSpeed& speed);

// The same as a JSON object, with the line as its member "description".
std::string describe_json(const Host& host, const HostSpeed& speed);

}  // namespace server
