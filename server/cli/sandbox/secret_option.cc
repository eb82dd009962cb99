#include "server/cli/sandbox/secret_option.h"

#include <unistd.h>

#include <charconv>
#include <cstddef>
#include <utility>

#include "runtime/config/text_file.h"

namespace server::client {
namespace {

using jail::invalid;
using jail::Result;

constexpr std::string_view variable_mark = "env:";
// The value, and a line end.
constexpr std::size_t value_and_line_end_bytes = runtime::max_secret_bytes + 2;

// Splits HOST:PORT, where there is a port: an IPv6 address is in brackets.
bool read_place(std::string_view place, runtime::SecretName& name) {
  const std::size_t colon = place.rfind(':');
  const std::size_t bracket = place.rfind(']');
  const bool has_port = colon != place.npos && (bracket == place.npos || colon > bracket);
  if (has_port) {
    const std::string_view port = place.substr(colon + 1);
    const auto read = std::from_chars(port.data(), port.data() + port.size(), name.port);
    const bool is_whole = read.ec == std::errc() && read.ptr == port.data() + port.size();
    if (!is_whole || name.port == 0) return false;
    place = place.substr(0, colon);
  }
  auto host = runtime::secret_host(place);
  if (!host) return false;
  name.host = std::move(*host);
  return true;
}

Result<std::string> value_of(const SecretOption& option, const runtime::Environment& environment) {
  if (option.file.empty()) {
    const auto found = environment.find(option.variable);
    if (found != environment.end()) return found->second;
    // It may be the value itself, by =env:$NAME.
    return invalid("the variable behind env: is not set; write its name, and not its value");
  }
  auto text = option.file == "-"
                  ? runtime::read_text(STDIN_FILENO, "standard input", value_and_line_end_bytes)
                  : runtime::read_text_file(option.file, value_and_line_end_bytes);
  if (!text) {
    // As above.
    jail::Error error = text.error();
    error.doing = "read the file behind @";
    return error;
  }
  if (text->ends_with('\n')) text->pop_back();
  if (text->ends_with('\r')) text->pop_back();
  return text;
}

}  // namespace

Result<SecretOption> parse_secret_option(std::string_view text) {
  SecretOption option;
  const std::size_t equals = text.find('=');
  const std::string_view left = text.substr(0, equals);
  const std::size_t colon = left.rfind(':');
  if (equals == text.npos || colon == left.npos) {
    return invalid("expected HOST:HEADER=@FILE or HOST:HEADER=env:NAME");
  }
  if (!read_place(left.substr(0, colon), option.name)) {
    return invalid("expected a host, perhaps with a port, before the header");
  }
  option.name.header = left.substr(colon + 1);
  if (!runtime::is_secret_header(option.name.header)) {
    return invalid("expected a header such as Authorization behind the host");
  }
  const std::string_view source = text.substr(equals + 1);
  if (source.size() > 1 && source.starts_with('@')) {
    option.file = source.substr(1);
  } else if (source.size() > variable_mark.size() && source.starts_with(variable_mark)) {
    option.variable = source.substr(variable_mark.size());
  } else {
    return invalid(
        "expected @FILE or env:NAME behind the header: others can read a value on a command line");
  }
  return option;
}

Result<runtime::NetworkSecret> read_secret(const SecretOption& option,
                                           const runtime::Environment& environment) {
  auto value = value_of(option, environment);
  if (!value) return value.error();
  if (!runtime::is_secret_value(*value)) {
    return invalid("the secret for " + option.name.destination() +
                   ": expected 1 .. 8192 printable ASCII characters with no blank on either side");
  }
  return runtime::NetworkSecret{.name = option.name, .value = runtime::Secret(std::move(*value))};
}

}  // namespace server::client
