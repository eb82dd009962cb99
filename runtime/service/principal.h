// Who asks: what every operation is told, whichever door the request came through.
#pragma once

#include <cstddef>
#include <optional>
#include <string>

namespace runtime {

struct Principal {
  // Whose jobs and lessons these are: a keyed digest of the API key. Empty where no keys are
  // configured, and everybody is this one tenant.
  std::string tenant;
  // The place of the key in the configuration, for what is counted by key.
  std::optional<std::size_t> key;

  // Whose records may be seen; nothing: everybody's, where no keys are configured.
  std::optional<std::string> sees() const { return key ? std::optional(tenant) : std::nullopt; }
};

}  // namespace runtime
