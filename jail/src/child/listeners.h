// The listeners of a living jail (notices.h). There is one for each spawned process, shared by all
// its descendants, so it may outlive that process. The memory that these share counts with it.
#pragma once

#include "child/notices.h"
#include "child/watch.h"

namespace jail::child {

struct Listener {
  Notices notices;
  SharedMemory shared;
  bool is_lent = false;  // lent to a process that is on its way to its program

  bool is_free() const { return !is_lent && notices.descriptor() < 0; }
};

class Listeners {
 public:
  static constexpr int most = 256;

  // Lends a listener to a process that is yet to be made; returns null where all are taken. The
  // borrower returns it by clearing `is_lent`; from then on it is in use for as long as there is a
  // process to listen to.
  Listener* lend() {
    for (int i = 0; i < most; ++i) {
      if (!all_[i].is_free()) continue;
      if (i >= used_) used_ = i + 1;
      all_[i].is_lent = true;
      return &all_[i];
    }
    return nullptr;
  }

  // No listener beyond this number is in use.
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
