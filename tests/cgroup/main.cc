#include <gtest/gtest.h>
#include <signal.h>
#include <unistd.h>

#include <cstdlib>
#include <string>

#include "tests/leave_root.h"

int main(int argc, char** argv) {
  testing::InitGoogleTest(&argc, argv);
  ::signal(SIGPIPE, SIG_IGN);
  // The tests may be started as root: the directory is then given to the user made for them.
  if (::geteuid() == 0) {
    const char* parent = std::getenv("JAIL_TEST_CGROUP");
    if (parent != nullptr) {
      for (const char* file : {"", "/cgroup.procs", "/cgroup.subtree_control", "/cgroup.threads"}) {
        if (::chown((std::string(parent) + file).c_str(), test_user, test_user) != 0) return 1;
      }
    }
    if (!leave_root()) return 1;
  }
  return RUN_ALL_TESTS();
}
