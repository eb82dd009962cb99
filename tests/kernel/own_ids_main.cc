// A test program that enters a range of ids first: as root one that belongs to nobody, as another
// user what /etc/subuid and /etc/subgid give.
#include <gtest/gtest.h>
#include <signal.h>
#include <unistd.h>

#include <cstdio>
#include <utility>

#include "guest.h"
#include "own_ids.h"
#include "tests/leave_root.h"

namespace kernel_ring {
namespace {

std::shared_ptr<const jail::IdRange> range;
std::string reason;

}  // namespace

const std::shared_ptr<const jail::IdRange>& own_ids() { return range; }
const std::string& why_no_ids() { return reason; }

void enter_range() {
  jail::IdRangeOptions options;
  if (::geteuid() == 0) {
    // A multiple of what a test program uses, by process so that two of them do not meet.
    constexpr std::uint32_t count = 512;
    constexpr std::uint32_t places = 4096;
    const std::uint32_t place = static_cast<std::uint32_t>(::getpid()) % places;
    options = {.first_uid = 1'000'000'000 + place * count,
               .first_gid = 1'100'000'000 + place * count,
               .count = count,
               .uid = test_user,
               .gid = test_user};
  }
  auto entered = jail::IdRange::enter(options);
  if (entered) {
    range = std::make_shared<const jail::IdRange>(std::move(*entered));
  } else {
    reason = entered.error().message();
  }
  use_ids(range);
}

}  // namespace kernel_ring

int main(int argc, char** argv) {
  testing::InitGoogleTest(&argc, argv);
  ::signal(SIGPIPE, SIG_IGN);
  kernel_ring::enter_range();
  if (!leave_root()) {
    std::perror("cannot leave root");
    return 1;
  }
  if (kernel_ring::own_ids() == nullptr) {
    std::printf("no range of ids here: %s\n", kernel_ring::why_no_ids().c_str());
  }
  return RUN_ALL_TESTS();
}
