// Removes trees of files that hostile programs have left, a bounded number of names at a time.
#pragma once

#include <cstddef>
#include <cstdint>

#include "jail/fd.h"

namespace runtime {

// Empties one directory. No link is followed, no path is looked up twice, and no more than two
// directories are open at a time, however deep the tree is: a directory that is not empty is moved
// up into the first one. Whoever writes into the tree meanwhile makes it take longer and leads it
// nowhere else. Not thread-safe.
class TreeRemoval {
 public:
  enum class State : std::uint8_t {
    done,   // the directory is empty
    more,   // there is more to remove
    stuck,  // the kernel does not let this process remove what is left
  };

  // `directory` belongs to this process's user, as does everything below.
  explicit TreeRemoval(jail::Fd directory) : directory_(std::move(directory)) {}

  // Looks at no more than about `names` names.
  State step(std::size_t names);

 private:
  bool empty_out(const char* name);
  bool move_up(int directory, const char* name);

  jail::Fd directory_;
  std::size_t left_ = 0;     // names that this step may still look at
  std::size_t removed_ = 0;  // by this step, and moved
  std::uint64_t next_name_ = 0;
};

}  // namespace runtime
