#include "runtime/observe/prometheus.h"

#include <dirent.h>
#include <sys/resource.h>
#include <unistd.h>

#include <cmath>
#include <cstdio>
#include <fstream>
#include <memory>
#include <sstream>

namespace runtime {
namespace {

std::string number_text(double value) {
  if (std::isinf(value)) return value > 0 ? "+Inf" : "-Inf";
  if (value == std::floor(value) && std::abs(value) < 1e15) {
    return std::to_string(static_cast<std::int64_t>(value));
  }
  char text[32];
  const int length = std::snprintf(text, sizeof text, "%.9g", value);
  return {text, static_cast<std::size_t>(length)};
}

std::string escaped(std::string_view value) {
  std::string text;
  for (const char c : value) {
    if (c == '\\' || c == '"') text += '\\';
    text += c == '\n' ? std::string("\\n") : std::string(1, c);
  }
  return text;
}

void add_label(std::string& text, std::string_view name, std::string_view value) {
  if (!text.empty()) text += ',';
  text += std::string(name) + "=\"" + escaped(value) + '"';
}

std::string label_text(PrometheusText::Labels labels) {
  std::string text;
  for (const auto& [name, value] : labels) add_label(text, name, value);
  return text;
}

struct ProcessUse {
  double cpu_seconds = 0;
  double virtual_bytes = 0;
  double resident_bytes = 0;
  double start_seconds = 0;
};

double boot_time() {
  std::ifstream stat("/proc/stat");
  for (std::string word; stat >> word;) {
    double value = 0;
    if (word == "btime" && stat >> value) return value;
  }
  return 0;
}

// Fields 14, 15, 22, 23 and 24 of proc(5), counted from 1; the name (2) may hold blanks and
// parentheses, so counting starts behind its last one.
ProcessUse process_use() {
  std::ifstream file("/proc/self/stat");
  std::stringstream content;
  content << file.rdbuf();
  const std::string text = content.str();
  std::istringstream fields(text.substr(std::min(text.rfind(')') + 1, text.size())));
  const auto ticks = static_cast<double>(::sysconf(_SC_CLK_TCK));
  ProcessUse use;
  std::string field;
  for (int number = 3; fields >> field; ++number) {
    const double value = number > 3 ? std::atof(field.c_str()) : 0;
    if (number == 14 || number == 15) use.cpu_seconds += value / ticks;
    if (number == 22) use.start_seconds = boot_time() + value / ticks;
    if (number == 23) use.virtual_bytes = value;
    if (number == 24) use.resident_bytes = value * static_cast<double>(::sysconf(_SC_PAGESIZE));
  }
  return use;
}

// One of the descriptors is that of the directory that is read here.
double open_descriptors() {
  const std::unique_ptr<DIR, int (*)(DIR*)> directory(::opendir("/proc/self/fd"), ::closedir);
  if (directory == nullptr) return 0;
  double count = -1;
  while (const dirent* entry = ::readdir(directory.get())) {
    if (entry->d_name[0] != '.') ++count;
  }
  return count;
}

}  // namespace

PrometheusText& PrometheusText::family(std::string_view name, std::string_view type,
                                       std::string_view help) {
  name_ = name;
  text_ += "# HELP " + name_ + ' ' + std::string(help) + '\n';
  text_ += "# TYPE " + name_ + ' ' + std::string(type) + '\n';
  return *this;
}

void PrometheusText::line(std::string_view suffix, const std::string& labels,
                          const std::string& value) {
  text_ += name_;
  text_ += suffix;
  if (!labels.empty()) text_ += '{' + labels + '}';
  text_ += ' ' + value + '\n';
}

PrometheusText& PrometheusText::sample(Labels labels, double value) {
  line("", label_text(labels), number_text(value));
  return *this;
}

PrometheusText& PrometheusText::histogram(Labels labels, const Histogram& histogram) {
  const auto counts = histogram.cumulative();
  for (std::size_t i = 0; i < counts.size(); ++i) {
    std::string text = label_text(labels);
    const bool last = i == Histogram::bounds_us.size();
    const double bound = last ? HUGE_VAL : static_cast<double>(Histogram::bounds_us[i]) / 1e6;
    add_label(text, "le", number_text(bound));
    line("_bucket", text, std::to_string(counts[i]));
  }
  line("_sum", label_text(labels), number_text(static_cast<double>(histogram.sum().count()) / 1e6));
  line("_count", label_text(labels), std::to_string(counts.back()));
  return *this;
}

PrometheusText& PrometheusText::counters(std::initializer_list<std::string_view> names,
                                         const Counters& counters) {
  for (const auto& [values, count] : counters.all()) {
    std::string text;
    std::size_t i = 0;
    for (const std::string_view name : names) add_label(text, name, values.at(i++));
    line("", text, std::to_string(count));
  }
  return *this;
}

void write_process(PrometheusText& text) {
  const ProcessUse use = process_use();
  rlimit descriptors{};
  ::getrlimit(RLIMIT_NOFILE, &descriptors);
  text.family("process_cpu_seconds_total", "counter", "CPU time of the server itself.")
      .sample({}, use.cpu_seconds);
  text.family("process_resident_memory_bytes", "gauge", "Resident memory of the server itself.")
      .sample({}, use.resident_bytes);
  text.family("process_virtual_memory_bytes", "gauge", "Virtual memory of the server itself.")
      .sample({}, use.virtual_bytes);
  text.family("process_start_time_seconds", "gauge", "When the server started, Unix time.")
      .sample({}, use.start_seconds);
  text.family("process_open_fds", "gauge", "Open descriptors.").sample({}, open_descriptors());
  text.family("process_max_fds", "gauge", "How many descriptors may be open.")
      .sample({}, static_cast<double>(descriptors.rlim_cur));
}

}  // namespace runtime
