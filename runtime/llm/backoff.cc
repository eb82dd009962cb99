#include "runtime/llm/backoff.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <cstdio>
#include <string>

#include "runtime/llm/http_text.h"

namespace runtime::llm {
namespace {

using std::chrono::milliseconds;
using std::chrono::system_clock;

// Longer than any cap, and far from where clocks overflow.
constexpr double longest_ms = 365.0 * 24 * 3600 * 1000;

// The clock can represent every time between these, and the difference of any two.
constexpr std::chrono::sys_seconds earliest{};
constexpr std::chrono::sys_seconds latest{std::chrono::sys_days(std::chrono::year(2250) / 1 / 1)};

std::optional<milliseconds> parse_number(std::string_view text, double unit_ms) {
  text = trimmed(text);
  double value = 0;
  const auto [end, error] =
      std::from_chars(text.data(), text.data() + text.size(), value, std::chars_format::fixed);
  if (error != std::errc() || end != text.data() + text.size()) return std::nullopt;
  if (!std::isfinite(value) || value < 0) return std::nullopt;
  return milliseconds(std::llround(std::ceil(std::min(value * unit_ms, longest_ms))));
}

std::optional<unsigned> month_of(const char* name) {
  constexpr std::array names{"Jan", "Feb", "Mar", "Apr", "May", "Jun",
                             "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"};
  const auto found = std::find(names.begin(), names.end(), std::string_view(name));
  if (found == names.end()) return std::nullopt;
  return static_cast<unsigned>(found - names.begin()) + 1;
}

// Two digits, in the old forms of a date, mean a year since 1970.
int whole_year(int year) { return year >= 100 ? year : year + (year < 70 ? 2000 : 1900); }

}  // namespace

milliseconds backoff(std::uint32_t repetition, double chance, const BackoffRule& rule) {
  const double doubled = std::ldexp(static_cast<double>(rule.first.count()),
                                    static_cast<int>(std::min(repetition, 60u)));
  const double whole = std::min(doubled, static_cast<double>(rule.most.count()));
  return milliseconds(std::llround(whole * (1 - rule.jitter * std::clamp(chance, 0.0, 1.0))));
}

std::optional<milliseconds> parse_retry_after_ms(std::string_view value) {
  return parse_number(value, 1);
}

std::optional<milliseconds> parse_retry_delay(std::string_view value) {
  value = trimmed(value);
  if (value.empty() || value.back() != 's') return std::nullopt;
  value.remove_suffix(1);
  return parse_number(value, 1000);
}

std::optional<milliseconds> parse_retry_after(std::string_view value,
                                              system_clock::time_point now) {
  if (const auto seconds = parse_number(value, 1000)) return seconds;
  const auto then = parse_http_date(value);
  if (!then) return std::nullopt;
  const auto left = std::chrono::ceil<milliseconds>(*then - now);
  return std::clamp(left, milliseconds(0), milliseconds(static_cast<std::int64_t>(longest_ms)));
}

// The form of dates that HTTP writes, and the two old forms that recipients must accept.
std::optional<system_clock::time_point> parse_http_date(std::string_view value) {
  const std::string text(trimmed(value));
  std::array<char, 4> name{};
  int day = 0;
  int year = 0;
  int hour = 0;
  int minute = 0;
  int second = 0;
  int end = 0;
  const auto whole = [&] { return static_cast<std::size_t>(end) == text.size(); };
  const auto reads = [&](const char* format) {
    end = 0;
    return std::sscanf(text.c_str(), format, &day, name.data(), &year, &hour, &minute, &second,
                       &end) == 6 &&
           whole();
  };
  const auto reads_asctime = [&] {
    end = 0;
    return std::sscanf(text.c_str(), "%*3[A-Za-z] %3[A-Za-z] %2d %2d:%2d:%2d %4d%n", name.data(),
                       &day, &hour, &minute, &second, &year, &end) == 6 &&
           whole();
  };
  if (!reads("%*3[A-Za-z], %2d %3[A-Za-z] %4d %2d:%2d:%2d GMT%n") &&
      !reads("%*9[A-Za-z], %2d-%3[A-Za-z]-%2d %2d:%2d:%2d GMT%n") && !reads_asctime()) {
    return std::nullopt;
  }
  const auto month = month_of(name.data());
  if (!month || day < 0 || hour < 0 || hour > 23 || minute < 0 || minute > 59 || second < 0 ||
      second > 60) {
    return std::nullopt;
  }
  const std::chrono::year_month_day date{std::chrono::year(whole_year(year)),
                                         std::chrono::month(*month),
                                         std::chrono::day(static_cast<unsigned>(day))};
  if (!date.ok()) return std::nullopt;
  const std::chrono::sys_seconds time = std::chrono::sys_days(date) + std::chrono::hours(hour) +
                                        std::chrono::minutes(minute) + std::chrono::seconds(second);
  // The clock has a finer resolution than a year of four digits allows.
  return std::clamp(time, earliest, latest);
}

std::optional<milliseconds> asked_wait(const HttpReply& reply, system_clock::time_point now) {
  if (const std::string* value = reply.header("retry-after-ms")) {
    if (const auto wait = parse_retry_after_ms(*value)) return wait;
  }
  const std::string* value = reply.header("retry-after");
  return value == nullptr ? std::nullopt : parse_retry_after(*value, now);
}

std::optional<milliseconds> wait_before(std::uint32_t repetition, double chance,
                                        std::optional<milliseconds> asked,
                                        const BackoffRule& rule) {
  if (!asked) return backoff(repetition, chance, rule);
  if (*asked > rule.cap) return std::nullopt;
  return *asked;
}

}  // namespace runtime::llm
