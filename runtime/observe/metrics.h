// The counters and timings behind /stats and /metrics.
#pragma once

#include <array>
#include <chrono>
#include <string>
#include <string_view>

#include "runtime/observe/counters.h"
#include "runtime/observe/histogram.h"

namespace runtime {

// Thread-safe.
struct Metrics {
  Histogram queued;        // waiting for a place
  Histogram started;       // from its place to the program's first instruction
  Histogram started_warm;  // the part of these in a jail that waited or a fork of a warm
                           // interpreter
  Histogram started_cold;  // the part of these in a jail that was made for the program
  Histogram ran;           // from the first instruction to the program's end
  Histogram total;         // from the accepted request to its result
  Counters outcomes;       // status, language
  Counters tasks;          // status
  Counters responses;      // route, status class: "/execute", "2xx"
  Counters webhooks;       // "delivered", "failed": each attempt to deliver an event
  // Label: the reason, which is a name of RefusalCode, or "stopping", "connections", "rate",
  // "concurrency" or "peer".
  Counters rejected;

  struct Phase {
    std::string_view name;
    const Histogram& histogram;
  };
  std::array<Phase, 4> phases() const {
    return {{{"queued", queued}, {"started", started}, {"ran", ran}, {"total", total}}};
  }
};

}  // namespace runtime
