// The cost of the loop itself, beside models and programs that take no time.
#include <sys/resource.h>

#include "tests/unit/agent/loop_fixture.h"

namespace runtime::agent {
namespace {

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
#define IS_SANITIZED 1
#elif defined(__has_feature)
#define IS_SANITIZED (__has_feature(address_sanitizer) || __has_feature(thread_sanitizer))
#else
#define IS_SANITIZED 0
#endif
constexpr double max_ms = IS_SANITIZED ? 40 : 2;

double cpu_ms() {
  rusage usage{};
  ::getrusage(RUSAGE_SELF, &usage);
  const auto ms = [](const timeval& time) {
    return static_cast<double>(time.tv_sec) * 1e3 + static_cast<double>(time.tv_usec) / 1e3;
  };
  return ms(usage.ru_utime) + ms(usage.ru_stime);
}

TEST_F(LoopTest, AnAttemptTakesLittle) {
  constexpr int tasks = 20;
  constexpr std::uint32_t attempts = 10;
  model_.otherwise[Role::coder] = {.text = coded("print(1)\n" + std::string(3000, '#'))};
  model_.otherwise[Role::critic] = {.text = criticism(std::string(500, 'd'))};
  fail_first(1'000'000, std::string(3000, 'e'));
  double spent = 0;
  for (int i = 0; i < tasks; ++i) {
    TaskRequest request = task(std::string(2000, 't'));
    request.max_attempts = attempts;
    events_.clear();
    const double before = cpu_ms();
    EXPECT_EQ(run(std::move(request)).attempts, attempts);
    spent += cpu_ms() - before;
  }
  const double each = spent / (tasks * attempts);
  RecordProperty("cpu_ms_per_attempt", std::to_string(each));
  EXPECT_LT(each, max_ms);
}

}  // namespace
}  // namespace runtime::agent
