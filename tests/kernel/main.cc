// Started as root, the ring drops to a user made for it, as the server does.
#include <grp.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/prctl.h>
#include <unistd.h>

#include <cstdio>

namespace {

constexpr uid_t test_user = 60801;

bool drop_root() {
  if (::geteuid() != 0) return true;
  return ::setgroups(0, nullptr) == 0 && ::setresgid(test_user, test_user, test_user) == 0 &&
         ::setresuid(test_user, test_user, test_user) == 0;
}

}  // namespace

int main(int argc, char** argv) {
  testing::InitGoogleTest(&argc, argv);
  ::signal(SIGPIPE, SIG_IGN);
  if (!drop_root()) {
    std::perror("cannot leave root");
    return 1;
  }
  return RUN_ALL_TESTS();
}
