// A file in memory that nobody can change any more.
#pragma once

#include <span>
#include <string_view>

#include "jail/fd.h"
#include "jail/result.h"

namespace jail {

enum class SealedUse { read, execute };

Result<Fd> sealed_file(const char* name, std::string_view content, SealedUse use);

// The same with content that lies in several places, which follow one another in the file.
Result<Fd> sealed_file(const char* name, std::span<const std::string_view> parts, SealedUse use);

}  // namespace jail
