// A file in memory that nobody can change any more.
#pragma once

#include <string_view>

#include "jail/fd.h"
#include "jail/result.h"

namespace jail {

enum class SealedUse { read, execute };

Result<Fd> sealed_file(const char* name, std::string_view content, SealedUse use);

}  // namespace jail
