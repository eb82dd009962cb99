// `--secret HOST[:PORT]:HEADER=SOURCE` of `agent-sandbox sandbox`: the value comes from a file or a
// variable, since other users of a machine see command lines.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "jail/result.h"
#include "runtime/config/environment.h"
#include "runtime/secrets/network_secret.h"

namespace server::client {

struct SecretOption {
  runtime::SecretName name{};
  std::string file{};      // "-": standard input; empty: the variable
  std::string variable{};  // empty: the file
};

// Errors: invalid (says what was expected, and never repeats what could be a value).
jail::Result<SecretOption> parse_secret_option(std::string_view text);

// Reads the value, without the line end that a file has. Errors: invalid (names the file or the
// variable), kernel.
jail::Result<runtime::NetworkSecret> read_secret(const SecretOption& option,
                                                 const runtime::Environment& environment);

}  // namespace server::client
