#include "bench/counters.h"

#include <linux/perf_event.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <string>

#include "bench/request.h"

namespace bench {
namespace {

jail::Fd open_counter(std::uint64_t what, bool in_kernel) {
  perf_event_attr attributes{};
  attributes.type = PERF_TYPE_SOFTWARE;
  attributes.size = sizeof attributes;
  attributes.config = what;
  attributes.inherit = 1;
  attributes.exclude_kernel = in_kernel ? 0 : 1;
  constexpr int this_process = 0;
  constexpr int any_processor = -1;
  constexpr int no_group = -1;
  return jail::Fd(static_cast<int>(::syscall(SYS_perf_event_open, &attributes, this_process,
                                             any_processor, no_group, PERF_FLAG_FD_CLOEXEC)));
}

double value_of(const jail::Fd& counter) {
  std::uint64_t value = 0;
  if (!counter.valid()) return 0;
  if (::read(counter.get(), &value, sizeof value) != sizeof value) {
    throw Failure(std::string("read a counter: ") + std::strerror(errno));
  }
  return static_cast<double>(value);
}

}  // namespace

Counters Counters::begin() {
  Counters counters;
  counters.page_faults_ = open_counter(PERF_COUNT_SW_PAGE_FAULTS, true);
  counters.counts_in_kernel_ = counters.page_faults_.valid();
  const bool in_kernel = counters.counts_in_kernel_;
  if (!in_kernel) counters.page_faults_ = open_counter(PERF_COUNT_SW_PAGE_FAULTS, false);
  if (!counters.page_faults_.valid()) {
    throw Failure(std::string("count page faults: ") + std::strerror(errno));
  }
  if (in_kernel) counters.context_switches_ = open_counter(PERF_COUNT_SW_CONTEXT_SWITCHES, true);
  counters.processor_time_ = open_counter(PERF_COUNT_SW_TASK_CLOCK, in_kernel);
  return counters;
}

Counters::Values Counters::now() const {
  return {value_of(page_faults_), value_of(context_switches_), value_of(processor_time_) / 1e3};
}

}  // namespace bench
