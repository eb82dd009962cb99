#include <gtest/gtest.h>
#include <signal.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <memory>
#include <string>
#include <utility>

#include "fixture.h"
#include "tests/leave_root.h"
#include "tests/own_ids.h"

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
  }
  if (std::getenv("JAIL_TEST_OWN_IDS") != nullptr) {
    auto range = enter_range();
    if (!range) {
      std::fprintf(stderr, "%s\n", range.error().message().c_str());
      return 1;
    }
    Cgroup::ids = std::make_shared<const jail::IdRange>(std::move(*range));
  }
  if (!leave_root()) return 1;
  return RUN_ALL_TESTS();
}
