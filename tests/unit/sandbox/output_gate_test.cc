#include "runtime/sandbox/output_gate.h"

#include <gtest/gtest.h>

namespace runtime {
namespace {

TEST(OutputGate, TellsAllListenersWheneverItOpens) {
  const OutputGate gate;
  int one = 0;
  int other = 0;
  const OutputGate::Listener first(gate, [&one] { ++one; });
  const OutputGate::Listener second(gate, [&other] { ++other; });
  gate.open();  // it was open
  EXPECT_EQ(one, 0);
  for (int times = 1; times < 3; ++times) {
    gate.close();
    EXPECT_FALSE(gate.is_open());
    gate.open();
    EXPECT_TRUE(gate.is_open());
    EXPECT_EQ(one, times);
    EXPECT_EQ(other, times);
  }
}

TEST(OutputGate, DoesNotTellAListenerThatIsGone) {
  const OutputGate gate;
  int told = 0;
  const OutputGate::Listener stays(gate, [&told] { ++told; });
  {
    const OutputGate::Listener gone(gate, [] { FAIL() << "called"; });
  }
  gate.close();
  gate.open();
  EXPECT_EQ(told, 1);
}

}  // namespace
}  // namespace runtime
