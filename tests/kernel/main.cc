#include <gtest/gtest.h>
#include <signal.h>

#include <cstdio>

#include "tests/leave_root.h"

int main(int argc, char** argv) {
  testing::InitGoogleTest(&argc, argv);
  ::signal(SIGPIPE, SIG_IGN);
  if (!leave_root()) {
    std::perror("cannot leave root");
    return 1;
  }
  return RUN_ALL_TESTS();
}
