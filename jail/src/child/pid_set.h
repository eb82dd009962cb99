// A small set of processes, by their numbers.
#pragma once

namespace jail::child {

template <int capacity>
class PidSet {
 public:
  // Returns false where the set is full.
  bool add(int pid) {
    for (int& place : places_) {
      if (place != 0) continue;
      place = pid;
      return true;
    }
    return false;
  }

  void remove(int pid) {
    for (int& place : places_) {
      if (place == pid) place = 0;
    }
  }

  bool has(int pid) const {
    for (const int place : places_) {
      if (place == pid) return true;
    }
    return false;
  }

 private:
  int places_[capacity] = {};  // 0 marks a free one
};

}  // namespace jail::child
