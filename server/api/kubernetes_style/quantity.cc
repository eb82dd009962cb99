#include "server/api/kubernetes_style/quantity.h"

#include <algorithm>
#include <charconv>
#include <cmath>

namespace server::kubernetes_style {
namespace {

constexpr std::uint64_t most = std::uint64_t{1} << 53;

struct Unit {
  std::string_view name;
  std::uint64_t bytes;
};

constexpr Unit units[] = {{"Ki", std::uint64_t{1} << 10},
                          {"Mi", std::uint64_t{1} << 20},
                          {"Gi", std::uint64_t{1} << 30},
                          {"Ti", std::uint64_t{1} << 40},
                          {"k", 1'000},
                          {"M", 1'000'000},
                          {"G", 1'000'000'000},
                          {"T", 1'000'000'000'000},
                          {"", 1}};

// Parses digits, perhaps with a point and three more digits, as thousandths.
std::optional<std::uint64_t> thousandths_of(std::string_view text) {
  const std::size_t point = std::min(text.find('.'), text.size());
  std::string_view fraction = text.substr(std::min(point + 1, text.size()));
  const bool has_point = point < text.size();
  if (has_point && (fraction.empty() || fraction.size() > 3)) return std::nullopt;
  std::string digits(text.substr(0, point));
  if (digits.empty() || digits.size() > 15) return std::nullopt;
  digits += fraction;
  digits.append(3 - fraction.size(), '0');
  std::uint64_t number = 0;
  const char* const end = digits.data() + digits.size();
  const auto [stop, error] = std::from_chars(digits.data(), end, number);
  if (error != std::errc() || stop != end) return std::nullopt;
  return number;
}

}  // namespace

std::optional<std::uint64_t> millicores_of(std::string_view text) {
  constexpr std::uint64_t max_millicores = 1'000'000'000;
  const bool is_in_thousandths = text.ends_with('m');
  if (is_in_thousandths) text.remove_suffix(1);
  auto number = thousandths_of(text);
  if (number && is_in_thousandths) {
    if (*number % 1000 != 0) return std::nullopt;
    *number /= 1000;
  }
  return number && *number <= max_millicores ? number : std::nullopt;
}

std::optional<std::uint64_t> bytes_of(std::string_view text) {
  const auto unit = std::find_if(std::begin(units), std::end(units),
                                 [&](const Unit& each) { return text.ends_with(each.name); });
  text.remove_suffix(unit->name.size());
  const auto number = thousandths_of(text);
  // There is no half of a byte.
  if (!number || (unit->bytes == 1 && *number % 1000 != 0)) return std::nullopt;
  const long double bytes = static_cast<long double>(*number) * unit->bytes / 1000;
  if (bytes >= static_cast<long double>(most)) return std::nullopt;
  return static_cast<std::uint64_t>(bytes);
}

std::string millicores_text(double cores) {
  return std::to_string(std::llround(cores * 1000)) + "m";
}

std::string mebibytes_text(std::uint64_t mebibytes) { return std::to_string(mebibytes) + "Mi"; }

}  // namespace server::kubernetes_style
