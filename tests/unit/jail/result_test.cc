#include "jail/result.h"

#include <errno.h>
#include <gtest/gtest.h>

#include <memory>

namespace jail {
namespace {

TEST(Error, SaysWhatWasDoneWhyItFailedAndWhatHelps) {
  const Error error{ErrorKind::kernel, "mount /usr read-only (init step 9 of 22)", EPERM,
                    "see doctor"};
  EXPECT_EQ(error.message(),
            "mount /usr read-only (init step 9 of 22): Operation not permitted. Hint: see doctor");
}

TEST(Error, LeavesOutWhatIsNotThere) {
  EXPECT_EQ((Error{ErrorKind::invalid, "argv: empty", 0, {}}.message()), "argv: empty");
}

TEST(Result, CarriesAMoveOnlyValue) {
  Result<std::unique_ptr<int>> result(std::make_unique<int>(7));
  ASSERT_TRUE(result);
  EXPECT_EQ(*std::move(result).value(), 7);
}

TEST(Result, CarriesAnError) {
  const Result<int> result(Error{ErrorKind::closed, "ask", 0, {}});
  ASSERT_FALSE(result.has_value());
  EXPECT_EQ(result.error().kind, ErrorKind::closed);
}

TEST(ResultOfVoid, IsSuccessUnlessGivenAnError) {
  EXPECT_TRUE(Result<void>());
  EXPECT_FALSE(Result<void>(Error{}));
}

}  // namespace
}  // namespace jail
