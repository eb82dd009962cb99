// The image that the launcher maps: offsets in it must lead where the plan's did.
#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cstring>

#include "parent/shared_plans.h"
#include "plan/plan.h"

namespace jail {
namespace {

Result<Plan> plan_of(const std::string& argument, const IdsOfJails& ids = {}) {
  JailSpec spec;
  spec.argv = {"/bin/echo", "one", argument};
  spec.env = {"NAME=value"};
  spec.filter.instructions = {0x7fff000000000006};
  HostFacts host;
  host.uid = host.gid = 1001;
  host.ids_of_jails = ids;
  return compile(spec, host);
}

class PlanImage : public testing::Test {
 protected:
  void SetUp() override { take(plan_of("two")); }

  void take(const Result<Plan>& plan) {
    ASSERT_TRUE(plan) << plan.error().message();
    auto image = to_image(*plan);
    ASSERT_TRUE(image) << image.error().message();
    image_ = std::move(*image);
    struct stat status {};
    ASSERT_EQ(::fstat(image_.get(), &status), 0);
    bytes_.resize(static_cast<std::size_t>(status.st_size));
    ASSERT_EQ(::pread(image_.get(), bytes_.data(), bytes_.size(), 0), status.st_size);
    std::memcpy(&header_, bytes_.data(), sizeof header_);
  }

  template <class T>
  T at(std::uint64_t offset) const {
    T value;
    EXPECT_LE(offset + sizeof value, bytes_.size());
    std::memcpy(&value, bytes_.data() + offset, sizeof value);
    return value;
  }
  std::string text_at(std::uint64_t offset) const { return bytes_.c_str() + offset; }
  wire::Call last_call() const {
    return at<wire::Call>(header_.calls_offset +
                          sizeof(wire::Call) * (header_.init_calls + header_.guest_calls - 1));
  }

  Fd image_;
  std::string bytes_;
  wire::PlanHeader header_{};
};

TEST_F(PlanImage, SaysWhereTheIdsOfAJailGo) {
  EXPECT_EQ(header_.uid_map_offset, 0u);
  EXPECT_EQ(header_.gid_map_offset, 0u);
  take(plan_of("two", {200'000, 300'000, 10}));
  EXPECT_EQ(text_at(header_.uid_map_offset), "?????????? 1");
  EXPECT_EQ(text_at(header_.gid_map_offset), "?????????? 1");
  EXPECT_NE(header_.uid_map_offset, header_.gid_map_offset);
}

TEST_F(PlanImage, HasItsOwnSize) { EXPECT_EQ(header_.size, bytes_.size()); }

TEST_F(PlanImage, CannotBeChanged) {
  EXPECT_EQ(::fcntl(image_.get(), F_GET_SEALS) & (F_SEAL_WRITE | F_SEAL_SHRINK | F_SEAL_GROW),
            F_SEAL_WRITE | F_SEAL_SHRINK | F_SEAL_GROW);
  EXPECT_LT(::pwrite(image_.get(), "x", 1, 0), 0);
}

TEST_F(PlanImage, LeadsExecveToItsArguments) {
  const wire::Call execve = last_call();
  ASSERT_EQ(execve.kind[1], wire::argument_address);
  EXPECT_EQ(text_at(static_cast<std::uint64_t>(execve.argument[0])), "/bin/echo");
  const auto array = static_cast<std::uint64_t>(execve.argument[1]);
  EXPECT_EQ(text_at(at<std::uint64_t>(array)), "/bin/echo");
  EXPECT_EQ(text_at(at<std::uint64_t>(array + 8)), "one");
  EXPECT_EQ(text_at(at<std::uint64_t>(array + 16)), "two");
  EXPECT_EQ(at<std::uint64_t>(array + 24), 0u);
}

TEST_F(PlanImage, RelocatesEveryPointerAndNothingElse) {
  // argv (3), env (1), the filter's program (1).
  EXPECT_EQ(header_.relocations, 5u);
  for (std::uint32_t i = 0; i < header_.relocations; ++i) {
    const auto place = at<std::uint64_t>(header_.relocations_offset + 8 * i);
    EXPECT_EQ(place % 8, 0u);
    EXPECT_LT(at<std::uint64_t>(place), header_.size);
  }
}

TEST(SharedPlans, AreOneForThoseThatAreAlike) {
  SharedPlans plans;
  const auto share = [&plans](const std::string& argument) {
    auto shared = plans.share(*plan_of(argument));
    EXPECT_TRUE(shared);
    return *shared;
  };
  const auto first = share("two");
  EXPECT_EQ(share("two"), first);
  const auto other = share("three");
  EXPECT_NE(other, first);
  EXPECT_EQ(first->plan, *plan_of("two"));
  EXPECT_EQ(other->plan, *plan_of("three"));
  EXPECT_NE(first->image.get(), other->image.get());
}

}  // namespace
}  // namespace jail
