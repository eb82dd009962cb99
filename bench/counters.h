// What the kernel counts for this process and all of its descendants, jails included
// (perf_event_open(2)): page faults, context switches, processor time.
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

  // Counts from here on, including processes that are started later. Without the right to count in
  // the kernel (perf_event_paranoid above 1) only page faults of user mode are counted, and context
  // switches are not. Throws Failure where nothing may be counted.
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
