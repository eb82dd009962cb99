// The media type of an artefact, by its name alone: a guest chose its bytes.
#pragma once

#include <string_view>

namespace runtime {

// Returns the type that the registry of media types has for the file's ending, or
// application/octet-stream for an unknown one.
std::string_view media_type_of(std::string_view path) noexcept;

}  // namespace runtime
