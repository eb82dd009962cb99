// Amounts as Kubernetes writes them.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace server::kubernetes_style {

// Thousandths of a processor: of "100m", "1", "0.5". Nothing where `text` is none, or more than a
// million processors.
std::optional<std::uint64_t> millicores_of(std::string_view text);

// Bytes: of "128Mi", "1Gi", "500M", "1048576". Nothing where `text` is none, or 2^53 bytes or more.
std::optional<std::uint64_t> bytes_of(std::string_view text);

std::string millicores_text(double cores);            // "1000m"
std::string mebibytes_text(std::uint64_t mebibytes);  // "128Mi"

}  // namespace server::kubernetes_style
