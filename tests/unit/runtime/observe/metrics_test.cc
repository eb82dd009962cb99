#include "runtime/observe/metrics.h"

#include <gmock/gmock.h>

#include <thread>

#include "runtime/observe/prometheus.h"

namespace runtime {
namespace {

using namespace std::chrono_literals;
using ::testing::HasSubstr;

TEST(Histogram, PercentilesAreRightToFourPercent) {
  Histogram histogram;
  EXPECT_EQ(histogram.percentile(0.5), 0us);
  for (std::int64_t value = 1; value <= 100'000; ++value) {
    histogram.observe(std::chrono::microseconds(value));
  }
  for (const double share : {0.01, 0.5, 0.9, 0.99, 1.0}) {
    const auto found = static_cast<double>(histogram.percentile(share).count());
    EXPECT_NEAR(found, share * 100'000, share * 4'000) << share;
  }
  EXPECT_EQ(histogram.count(), 100'000u);
  EXPECT_EQ(histogram.sum(), std::chrono::microseconds(5'000'050'000));
}

TEST(Histogram, BoundsAreInclusive) {
  Histogram histogram;
  for (const auto value : {0us, 50us, 51us, 60'000'000us, 60'000'001us}) histogram.observe(value);
  const auto counts = histogram.cumulative();
  EXPECT_EQ(counts[0], 2u);
  EXPECT_EQ(counts[1], 3u);
  EXPECT_EQ(counts[counts.size() - 2], 4u);
  EXPECT_EQ(counts.back(), 5u);
}

TEST(Histogram, TakesTheExtremes) {
  Histogram histogram;
  histogram.observe(-5us);
  histogram.observe(std::chrono::hours(1000));
  EXPECT_EQ(histogram.count(), 2u);
  EXPECT_EQ(histogram.percentile(0.1), 0us);
  EXPECT_GT(histogram.percentile(1), std::chrono::minutes(60));
}

TEST(Histogram, CountsFromManyThreads) {
  Histogram histogram;
  Counters counters;
  std::vector<std::thread> threads;
  for (int t = 0; t < 4; ++t) {
    threads.emplace_back([&] {
      for (int i = 0; i < 10'000; ++i) {
        histogram.observe(100us);
        counters.add({"a", "b"});
      }
    });
  }
  for (auto& thread : threads) thread.join();
  EXPECT_EQ(histogram.count(), 40'000u);
  EXPECT_EQ(counters.all().at({"a", "b"}), 40'000u);
}

TEST(PrometheusText, FamiliesAndEscapes) {
  Counters counters;
  counters.add({"a\"b\\c\nd", "x"});
  counters.add({"a\"b\\c\nd", "x"});
  PrometheusText text;
  text.family("n_total", "counter", "Help.").counters({"one", "two"}, counters);
  text.family("g", "gauge", "Help.").sample({}, 0.25);
  EXPECT_EQ(std::move(text).take(),
            "# HELP n_total Help.\n# TYPE n_total counter\n"
            "n_total{one=\"a\\\"b\\\\c\\nd\",two=\"x\"} 2\n"
            "# HELP g Help.\n# TYPE g gauge\ng 0.25\n");
}

TEST(PrometheusText, Histograms) {
  Histogram histogram;
  histogram.observe(1'500us);
  PrometheusText out;
  out.family("h", "histogram", "Help.").histogram({{"phase", "ran"}}, histogram);
  const std::string text = std::move(out).take();
  EXPECT_THAT(text, HasSubstr("h_bucket{phase=\"ran\",le=\"5e-05\"} 0\n"));
  EXPECT_THAT(text, HasSubstr("h_bucket{phase=\"ran\",le=\"0.0025\"} 1\n"));
  EXPECT_THAT(text, HasSubstr("h_bucket{phase=\"ran\",le=\"+Inf\"} 1\n"));
  EXPECT_THAT(text, HasSubstr("h_sum{phase=\"ran\"} 0.0015\nh_count{phase=\"ran\"} 1\n"));
}

TEST(PrometheusText, TheProcessItself) {
  PrometheusText out;
  write_process(out);
  const std::string text = std::move(out).take();
  const std::size_t place = text.find("\nprocess_start_time_seconds ");
  ASSERT_NE(place, text.npos);
  const double started = std::atof(text.c_str() + place + 28);
  EXPECT_NEAR(started, static_cast<double>(std::time(nullptr)), 600);
}

}  // namespace
}  // namespace runtime
