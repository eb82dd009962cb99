#include "pool/lateness.h"

#include <gtest/gtest.h>

namespace jail {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;

class LatenessTest : public testing::Test {
 protected:
  static Lateness::Time at(milliseconds moment) { return Lateness::Time(seconds(1000) + moment); }

  Lateness lateness_{seconds(5)};
};

TEST_F(LatenessTest, AJailIsOverdueAfterTheDeadline) {
  EXPECT_FALSE(lateness_.is_overdue(at(seconds(0)), at(seconds(5))));
  EXPECT_TRUE(lateness_.is_overdue(at(seconds(0)), at(milliseconds(5001))));
}

TEST_F(LatenessTest, WhereNoJailComesItsMakerIsBroken) {
  EXPECT_FALSE(lateness_.is_alone(at(seconds(0)), at(seconds(6))));
  lateness_.made(at(seconds(0)));
  EXPECT_FALSE(lateness_.is_alone(at(seconds(0)), at(seconds(1))));
}

TEST_F(LatenessTest, WhereOthersComeAJailIsLateAlone) {
  lateness_.made(at(seconds(3)));
  EXPECT_TRUE(lateness_.is_alone(at(seconds(0)), at(seconds(6))));
}

TEST_F(LatenessTest, WhereOthersCameLongAgoItsMakerIsBroken) {
  lateness_.made(at(milliseconds(10)));
  EXPECT_FALSE(lateness_.is_alone(at(seconds(0)), at(seconds(6))));
}

TEST_F(LatenessTest, AJailThatFailsWhileOthersComeFailsAlone) {
  lateness_.made(at(milliseconds(10)));
  EXPECT_TRUE(lateness_.is_alone(at(seconds(0)), at(milliseconds(20))));
  EXPECT_FALSE(lateness_.is_alone(at(milliseconds(11)), at(milliseconds(20))));
}

TEST_F(LatenessTest, ProofIsNeededOnceASecondUntilAJailComes) {
  EXPECT_FALSE(lateness_.needs_proof(at(seconds(0)), at(seconds(1))));
  EXPECT_TRUE(lateness_.needs_proof(at(seconds(0)), at(milliseconds(1001))));
  EXPECT_FALSE(lateness_.needs_proof(at(milliseconds(1001)), at(milliseconds(1002))));
  lateness_.made(at(milliseconds(1010)));
  EXPECT_FALSE(lateness_.needs_proof(at(seconds(0)), at(seconds(3))));
}

TEST_F(LatenessTest, TheProofHoldsUntilTheJailIsOverdue) {
  const auto ordered = at(seconds(0));
  lateness_.made(at(milliseconds(1010)));
  EXPECT_TRUE(lateness_.is_overdue(ordered, at(milliseconds(5250))));
  EXPECT_TRUE(lateness_.is_alone(ordered, at(milliseconds(5250))));
}

}  // namespace
}  // namespace jail
