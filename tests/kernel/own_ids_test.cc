// Jails that have a user of the host each.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "own_ids.h"

namespace kernel_ring {
namespace {

TEST(OwnIds, AreThere) {
  if (own_ids() == nullptr) GTEST_SKIP() << why_no_ids();
}

}  // namespace
}  // namespace kernel_ring
