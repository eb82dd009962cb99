// Lessons as JSON text.
#pragma once

#include <cstdint>
#include <string>

#include "runtime/agent/lessons.h"

namespace server {

std::string encode_lessons(const runtime::agent::LessonPage& page);
std::string encode_erased(std::uint64_t count);

}  // namespace server
