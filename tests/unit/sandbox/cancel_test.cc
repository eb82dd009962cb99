#include <gtest/gtest.h>

#include "runtime/sandbox/runner.h"

namespace runtime {
namespace {

TEST(Cancel, CallsTheHookOnce) {
  const Cancel cancel;
  int calls = 0;
  cancel.set_hook([&calls] { ++calls; });
  cancel.request();
  cancel.request();
  EXPECT_EQ(calls, 1);
  EXPECT_TRUE(cancel.requested());
}

TEST(Cancel, CallsAHookThatComesLater) {
  const Cancel cancel;
  cancel.request();
  int calls = 0;
  cancel.set_hook([&calls] { ++calls; });
  EXPECT_EQ(calls, 1);
}

TEST(Cancel, CopiesNameTheSameRun) {
  const Cancel cancel;
  const Cancel copy = cancel;  // NOLINT(performance-unnecessary-copy-initialization): the point
  copy.request();
  EXPECT_TRUE(cancel.requested());
}

TEST(Cancel, HookThatWasTakenAwayIsNotCalled) {
  const Cancel cancel;
  cancel.set_hook([] { FAIL() << "called"; });
  cancel.set_hook(nullptr);
  cancel.request();
}

}  // namespace
}  // namespace runtime
