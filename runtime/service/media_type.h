// The media type of an artefact, by its name alone: a guest chose its bytes.
#pragma once

#include <string_view>

namespace runtime {

// By the registry of media types; application/octet-stream for an unknown ending.
std::string_view media_type_of(std::string_view path) noexcept;

}  // namespace runtime
