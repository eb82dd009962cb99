#include "server/api/query.h"

#include <algorithm>
#include <charconv>
#include <ctime>
#include <utility>

#include "runtime/json/writer.h"
#include "runtime/service/common_fields.h"

namespace server {
namespace {

std::string unknown(std::string_view name, const QueryNames& known) {
  std::string names;
  for (const auto each : known) names += (names.empty() ? "" : ", ") + std::string(each);
  return runtime::json::quoted(name) + ": unknown; expected " +
         (names.empty() ? "no parameters behind the ?" : names);
}

// Up to the next &, which is taken too.
std::string_view take_pair(std::string_view& query) {
  const std::string_view pair = query.substr(0, query.find('&'));
  query.remove_prefix(std::min(pair.size() + 1, query.size()));
  return pair;
}

}  // namespace

jail::Result<Parameters> parameters_of(std::string_view query, const QueryNames& known) {
  Parameters parameters;
  while (!query.empty()) {
    const std::string_view pair = take_pair(query);
    if (pair.empty()) continue;
    const std::size_t sign = std::min(pair.find('='), pair.size());
    const std::string_view value = pair.substr(std::min(sign + 1, pair.size()));
    const std::string name(pair.substr(0, sign));
    if (std::find(known.begin(), known.end(), name) == known.end()) {
      return jail::invalid(unknown(name, known));
    }
    if (!parameters.emplace(name, value).second) {
      return jail::invalid(runtime::json::quoted(name) + ": expected once");
    }
  }
  return parameters;
}

bool has_parameter(std::string_view query, std::string_view name) {
  while (!query.empty()) {
    const std::string_view pair = take_pair(query);
    if (pair.substr(0, pair.find('=')) == name) return true;
  }
  return false;
}

std::optional<std::string> percent_decoded(std::string_view text) {
  std::string decoded;
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (text[i] != '%') {
      decoded += text[i];
      continue;
    }
    unsigned char byte = 0;
    const std::string_view digits = text.substr(i + 1, 2);
    const auto [end, error] =
        std::from_chars(digits.data(), digits.data() + digits.size(), byte, 16);
    if (digits.size() < 2 || error != std::errc() || end != digits.data() + digits.size()) {
      return std::nullopt;
    }
    decoded += static_cast<char>(byte);
    i += 2;
  }
  return decoded;
}

std::optional<std::string> form_decoded(std::string_view text) {
  std::string spaced(text);
  std::replace(spaced.begin(), spaced.end(), '+', ' ');
  return percent_decoded(spaced);
}

std::string percent_encoded(std::string_view text, Slashes slashes) {
  constexpr std::string_view digits = "0123456789ABCDEF";
  std::string encoded;
  for (const char letter : text) {
    const auto byte = static_cast<unsigned char>(letter);
    const bool is_plain = (letter >= 'a' && letter <= 'z') || (letter >= 'A' && letter <= 'Z') ||
                          (letter >= '0' && letter <= '9') ||
                          std::string_view("-._~").find(letter) != std::string_view::npos ||
                          (letter == '/' && slashes == Slashes::stay);
    if (is_plain) {
      encoded += letter;
    } else {
      encoded += '%';
      encoded += digits[byte >> 4];
      encoded += digits[byte & 0xF];
    }
  }
  return encoded;
}

std::optional<Response> read_path(const Parameters& parameters, std::string& path) {
  const auto given = parameters.find("path");
  if (given == parameters.end()) return std::nullopt;
  auto text = form_decoded(given->second);
  if (!text) return problem(400, "path: a % is not followed by two hexadecimal digits");
  if (!text->starts_with('/') || text->find('\0') != text->npos) {
    return problem(400, "path: expected an absolute one");
  }
  path = std::move(*text);
  return std::nullopt;
}

std::optional<std::uint64_t> number_of(std::string_view text) {
  std::uint64_t number = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (error != std::errc() || end != text.data() + text.size()) return std::nullopt;
  return number;
}

std::optional<bool> flag_of(const Parameters& parameters, std::string_view name) {
  const auto found = parameters.find(name);
  if (found == parameters.end()) return false;
  const std::string& value = found->second;
  if (value.empty() || value == "true" || value == "1") return true;
  if (value == "false" || value == "0") return false;
  return std::nullopt;
}

std::optional<std::chrono::system_clock::time_point> time_of(const std::string& text) {
  using Clock = std::chrono::system_clock;
  // What the clock can tell in nanoseconds.
  constexpr std::int64_t last_second = 7'289'654'400;  // the year 2201
  if (const auto seconds = number_of(text)) {
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

std::optional<std::string> read_encoding(const std::string& value,
                                         runtime::OutputEncoding& encoding) {
  const auto words = runtime::encoding_words({});
  if (std::find(words.begin(), words.end(), value) == words.end()) {
    return "encoding: expected utf-8 or base64";
  }
  encoding = runtime::encoding_of(value);
  return std::nullopt;
}

std::optional<std::string> read_limit(const std::string& value, std::uint32_t highest,
                                      std::uint32_t& limit) {
  const char* end = value.data() + value.size();
  const auto [stop, error] = std::from_chars(value.data(), end, limit);
  if (error == std::errc() && stop == end && limit >= 1 && limit <= highest) return std::nullopt;
  return "limit: expected an integer 1 .. " + std::to_string(highest);
}

}  // namespace server
