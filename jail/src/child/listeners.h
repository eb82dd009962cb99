// The listeners of a living jail (notices.h): one for each process that was spawned, which all that
// descend from it share, so it may outlive that process. What they share in memory counts with it.
#pragma once

#include "child/notices.h"
#include "child/watch.h"

namespace jail::child {

struct Listener {
  Notices notices;
  SharedMemory shared;
  bool is_lent = false;  // to a process that is on its way to its program

  bool is_free() const { return !is_lent && notices.descriptor() < 0; }
};

class Listeners {
 public:
  static constexpr int most = 256;

  // For a process that is yet to be made; null where all are taken. Whoever lends it gives it back
  // by `is_lent`, and then it is in use for as long as there is somebody to listen to.
  Listener* lend() {
    for (int i = 0; i < most; ++i) {
      if (!all_[i].is_free()) continue;
      if (i >= used_) used_ = i + 1;
      all_[i].is_lent = true;
      return &all_[i];
    }
    return nullptr;
  }

  // None beyond is in use.
  int used() const { return used_; }
  Listener& operator[](int i) { return all_[i]; }

  void forget_free_ones() {
    while (used_ > 0 && all_[used_ - 1].is_free()) --used_;
  }

 private:
  Listener all_[most];
  int used_ = 0;
};

}  // namespace jail::child
