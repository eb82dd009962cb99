// The output streams of a program.
#pragma once

#include <cstdint>

namespace runtime {

enum class Stream : std::uint8_t { standard_output, standard_error };

}  // namespace runtime
