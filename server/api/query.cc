#include "server/api/query.h"

#include <algorithm>
#include <charconv>
#include <utility>

#include "runtime/json/writer.h"

namespace server {
namespace {

runtime::Refusal refuse_unknown(std::string_view name, const QueryNames& known) {
  std::vector<std::string> names(known.begin(), known.end());
  for (std::string& one : names) one += one.ends_with('.') ? "NAME" : "";
  return runtime::refuse_name(name, names, "unknown parameter");
}

bool is_one_of(std::string_view name, const QueryNames& known) {
  return std::ranges::any_of(known, [&](std::string_view one) {
    return name == one ? !one.ends_with('.') : one.ends_with('.') && name.starts_with(one);
  });
}

// Takes the text up to the next &, and removes the &.
std::string_view take_pair(std::string_view& query) {
  const std::string_view pair = query.substr(0, query.find('&'));
  query.remove_prefix(std::min(pair.size() + 1, query.size()));
  return pair;
}

}  // namespace

std::variant<Parameters, runtime::Refusal> parameters_of(std::string_view query,
                                                         const QueryNames& known) {
  Parameters parameters;
  while (!query.empty()) {
    const std::string_view pair = take_pair(query);
    if (pair.empty()) continue;
    const std::size_t sign = std::min(pair.find('='), pair.size());
    const std::string_view value = pair.substr(std::min(sign + 1, pair.size()));
    const std::string name(pair.substr(0, sign));
    if (!is_one_of(name, known)) return refuse_unknown(name, known);
    auto text = form_decoded(value);
    // Only what stands behind a known beginning is the caller's own, and may be encoded.
    auto own_name = form_decoded(name);
    if (!text || !own_name)
      return runtime::refuse_request(name + ": a % is not followed by two hexadecimal digits");
    if (!parameters.emplace(std::move(*own_name), std::move(*text)).second) {
      return runtime::refuse_request(runtime::json::quoted(name) + ": expected once");
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

}  // namespace server
