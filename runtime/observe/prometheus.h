// A writer of Prometheus's text format, version 0.0.4.
#pragma once

#include <cstdint>
#include <initializer_list>
#include <string>
#include <string_view>
#include <utility>

#include "runtime/observe/counters.h"
#include "runtime/observe/histogram.h"

namespace runtime {

inline constexpr const char* prometheus_media_type = "text/plain; version=0.0.4; charset=utf-8";

// The families come one after the other; the caller names each once, with its type, and then adds
// its samples.
class PrometheusText {
 public:
  using Labels = std::initializer_list<std::pair<std::string_view, std::string_view>>;

  PrometheusText& family(std::string_view name, std::string_view type, std::string_view help);
  PrometheusText& sample(Labels labels, double value);
  PrometheusText& histogram(Labels labels, const Histogram& histogram);
  // Adds one sample for each combination; `names` are those of the labels.
  PrometheusText& counters(std::initializer_list<std::string_view> names, const Counters& counters);

  std::string take() && { return std::move(text_); }

 private:
  void line(std::string_view suffix, const std::string& labels, const std::string& value);

  std::string text_;
  std::string name_;
};

// Writes this process's usage, by the names that every Prometheus client library uses.
void write_process(PrometheusText& text);

}  // namespace runtime
