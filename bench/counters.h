// What the kernel counts of this process and of all that descend from it, jails included
// (perf_event_open(2)): page faults, changes of context, processor time.
#pragma once

#include "bench/numbers.h"
#include "jail/fd.h"

namespace bench {

class Counters {
 public:
  struct Values {
    double page_faults = 0;
    double context_switches = 0;
    double processor_us = 0;
  };

  // Counts from here on, whatever is started later too. Without the right to count in the kernel
  // (perf_event_paranoid above 1) page faults are those of user mode, and changes of context are
  // not counted. Throws Failure where nothing may be counted.
  static Counters begin();

  Values now() const;
  bool counts_in_kernel() const { return counts_in_kernel_; }

 private:
  jail::Fd page_faults_;
  jail::Fd context_switches_;
  jail::Fd processor_time_;
  bool counts_in_kernel_ = true;
};

}  // namespace bench
