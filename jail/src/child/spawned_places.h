// The places of the processes that the owner of a living jail has spawned.
#pragma once

#include "child/process_limits.h"
#include "child/spawned_process.h"
#include "child/watch.h"

namespace jail::child {

class SpawnedPlaces {
 public:
  // At a time; Limits::processes bounds how many each of them makes.
  static constexpr int most = Watch::max_starting;

  // No place beyond the end is in use.
  SpawnedProcess* begin() { return all_; }
  SpawnedProcess* end() { return all_ + used_; }
  int used() const { return used_; }
  SpawnedProcess& operator[](int i) { return all_[i]; }
  Spawned spawned() const { return {all_, used_}; }

  // Null: all are in use.
  SpawnedProcess* free_one() {
    for (int i = 0; i < most; ++i) {
      if (!all_[i].is_free()) continue;
      if (i >= used_) used_ = i + 1;
      return &all_[i];
    }
    return nullptr;
  }

  // The process of that number, or null.
  SpawnedProcess* find(int pid) {
    for (SpawnedProcess& process : *this) {
      if (process.is(pid)) return &process;
    }
    return nullptr;
  }

  // The fork that was ordered first of those that the zygote is to be asked for; null where there
  // is none, or as many are joining as may.
  SpawnedProcess* next_to_ask_for() {
    int joining = 0;
    SpawnedProcess* next = nullptr;
    for (SpawnedProcess& process : *this) {
      if (!process.is_joining()) continue;
      if (!process.is_to_be_asked_for()) {
        ++joining;
      } else if (next == nullptr || process.begin_ns() < next->begin_ns()) {
        next = &process;
      }
    }
    return joining < max_joining ? next : nullptr;
  }

  void forget_free_ones() {
    while (used_ > 0 && all_[used_ - 1].is_free()) --used_;
  }

 private:
  // The number of a zygote's forks that may be joining at a time. Each has two copies of its page
  // tables meanwhile.
  static constexpr int max_joining = 4;

  SpawnedProcess all_[most];
  int used_ = 0;
};

}  // namespace jail::child
