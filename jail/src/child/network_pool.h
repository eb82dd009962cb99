// Network namespaces of a template's host, for its jails to join. Making one takes longer than
// making all the other namespaces together, and the kernel needs as long again to take it apart.
#pragma once

#include <cstddef>

namespace jail::child {

// A namespace serves one jail after the other, never two at once, and only while all that a guest
// can read or leave in it is as in a new one: no packet has passed its loopback interface, so no
// connection can be waiting to time out where the next guest would meet it, and no counter has
// moved, since each would be a message to that guest.
class NetworkPool {
 public:
  // Enters a namespace for the next jail; this process is in it afterwards. Returns 0 or a negative
  // errno.
  long enter();
  // Notes the jail that was made since, by init's pidfd, which the caller keeps.
  void entered_by(int pidfd);

 private:
  struct Entry {
    int network = -1;  // -1: an empty place
    int user = -1;     // pidfd of the init of the jail in it
  };
  static constexpr std::size_t capacity = 256;

  Entry* find_free();
  void look_for_ended();
  long make();

  Entry entries_[capacity];
  Entry* current_ = nullptr;  // the namespace of the next jail; null: one that is not kept
};

}  // namespace jail::child
