#include "runtime/observe/counters.h"

namespace runtime {

void Counters::add(std::initializer_list<std::string_view> labels) {
  const Labels key(labels.begin(), labels.end());
  const std::lock_guard lock(mutex_);
  ++counts_[key];
}

std::map<Counters::Labels, std::uint64_t> Counters::all() const {
  const std::lock_guard lock(mutex_);
  return counts_;
}

}  // namespace runtime
