#include "runtime/sandbox/language.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace runtime {
namespace {

using testing::Contains;
using testing::ElementsAre;
using testing::Not;

TEST(Language, PythonIsTheRootsOwn) {
  RunRequest request;
  request.args = {"a", "b c"};
  EXPECT_THAT(arguments_of(request),
              ElementsAre("/usr/bin/python3", "/workspace/main.py", "a", "b c"));
}

TEST(Language, BashRunsItsFile) {
  RunRequest request;
  request.language = Language::bash;
  EXPECT_THAT(arguments_of(request), ElementsAre("/usr/bin/bash", "/workspace/main.sh"));
}

TEST(Language, CallersVariablesWin) {
  RunRequest request;
  request.env = {{"HOME", "/workspace"}, {"NEW", "1"}};
  const auto environment = environment_of(request);
  EXPECT_THAT(environment, Contains("HOME=/workspace"));
  EXPECT_THAT(environment, Contains("NEW=1"));
  EXPECT_THAT(environment, Not(Contains("HOME=/tmp")));
  EXPECT_THAT(environment, Contains("PATH=/usr/bin:/bin"));
}

}  // namespace
}  // namespace runtime
