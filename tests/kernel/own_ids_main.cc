// A test program that enters a range of ids first, where this host has one for it.
#include <gtest/gtest.h>
#include <signal.h>

#include <cstdio>
#include <utility>

#include "guest.h"
#include "own_ids.h"
#include "tests/leave_root.h"
#include "tests/own_ids.h"

namespace kernel_ring {
namespace {

std::shared_ptr<const jail::IdRange> range;
std::string reason;

}  // namespace

const std::shared_ptr<const jail::IdRange>& own_ids() { return range; }
const std::string& why_no_ids() { return reason; }

void enter() {
  auto entered = enter_range();
  if (entered) {
    range = std::make_shared<const jail::IdRange>(std::move(*entered));
  } else {
    reason = entered.error().message();
  }
  ids_of_jails() = range;
}

}  // namespace kernel_ring

int main(int argc, char** argv) {
  testing::InitGoogleTest(&argc, argv);
  ::signal(SIGPIPE, SIG_IGN);
  kernel_ring::enter();
  if (!leave_root()) {
    std::perror("cannot leave root");
    return 1;
  }
  if (kernel_ring::own_ids() == nullptr) {
    std::printf("no range of ids here: %s\n", kernel_ring::why_no_ids().c_str());
  }
  return RUN_ALL_TESTS();
}
