// What is counted and timed, for /stats and /metrics.
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
  Histogram started;       // from there to the program's first instruction
  Histogram started_warm;  // of these, in a jail that waited or a fork of a warm interpreter
  Histogram started_cold;  // in one that was made for it
  Histogram ran;           // from there to its end
  Histogram total;         // from the accepted request to its result
  Counters outcomes;       // status, language
  Counters tasks;          // status
  Counters responses;      // route, status class: "/execute", "2xx"
  Counters webhooks;       // "delivered", "failed": each try of an event
  // reason: names of RefusalCode; "stopping", "connections", "rate", "concurrency", "peer"
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
