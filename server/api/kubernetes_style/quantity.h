// Amounts as Kubernetes writes them.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace server::kubernetes_style {

// Parses thousandths of a processor: "100m", "1", "0.5". Returns std::nullopt where `text` is not
// an amount, or is more than a million processors.
std::optional<std::uint64_t> millicores_of(std::string_view text);

// Parses bytes: "128Mi", "1Gi", "500M", "1048576". Returns std::nullopt where `text` is not an
// amount, or is 2^53 bytes or more.
std::optional<std::uint64_t> bytes_of(std::string_view text);

std::string millicores_text(double cores);            // "1000m"
std::string mebibytes_text(std::uint64_t mebibytes);  // "128Mi"

}  // namespace server::kubernetes_style
