#include "runtime/service/query.h"

#include <charconv>
#include <ctime>
#include <limits>

namespace runtime {
namespace {

std::optional<bool> yes_or_no(std::string_view text) {
  if (text.empty() || text == "true" || text == "1") return true;
  if (text == "false" || text == "0") return false;
  return std::nullopt;
}

}  // namespace

std::optional<std::uint64_t> digits_of(std::string_view text) {
  std::uint64_t number = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (error != std::errc() || end != text.data() + text.size()) return std::nullopt;
  return number;
}

std::optional<std::chrono::system_clock::time_point> time_of(const std::string& text) {
  using Clock = std::chrono::system_clock;
  // The clock can represent this in nanoseconds.
  constexpr std::int64_t last_second = 7'289'654'400;  // the year 2201
  if (const auto seconds = digits_of(text)) {
    if (*seconds > static_cast<std::uint64_t>(last_second)) return std::nullopt;
    return Clock::from_time_t(static_cast<std::time_t>(*seconds));
  }
  std::tm parts{};
  const char* rest = ::strptime(text.c_str(), "%Y-%m-%dT%H:%M:%S", &parts);
  if (rest == nullptr) return std::nullopt;
  std::chrono::microseconds fraction{0};
  if (*rest == '.') {
    std::chrono::microseconds digit{100'000};
    for (++rest; *rest >= '0' && *rest <= '9'; ++rest, digit /= 10)
      fraction += digit * (*rest - '0');
  }
  if (std::string_view(rest) != "Z") return std::nullopt;
  const std::time_t seconds = ::timegm(&parts);
  if (seconds < 0 || seconds > last_second) return std::nullopt;
  return Clock::from_time_t(seconds) + fraction;
}

json::Value value_of_parameter(const Field& field, const std::string& text) {
  if (field.type == Field::Type::integer) {
    constexpr std::uint64_t last = std::numeric_limits<std::int64_t>::max();
    const auto number = digits_of(text);
    if (number && *number <= last) return json::Value(static_cast<std::int64_t>(*number));
  } else if (field.type == Field::Type::boolean) {
    if (const auto choice = yes_or_no(text)) return json::Value(*choice);
  }
  return json::Value(text);
}

}  // namespace runtime
