// What kind of file an artefact is, by its name alone: its bytes are a guest's.
#pragma once

#include <string_view>

namespace runtime {

// By the registry of media types; application/octet-stream for a name that says nothing.
std::string_view media_type_of(std::string_view path) noexcept;

}  // namespace runtime
