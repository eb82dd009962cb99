// Checks and parsers for the texts of settings.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "runtime/config/config.h"

namespace runtime {

// Converts ASCII letters only.
std::string lower(std::string_view text);
std::string upper(std::string_view text);

// Splits at commas and drops the blanks around the items; returns std::nullopt where an item is
// empty.
std::optional<std::vector<std::string>> items(std::string_view text);

bool is_visible_ascii(std::string_view text);
// Accepts 1 to 64 ASCII letters, digits, ".", "_" and "-".
bool is_tenant_name(std::string_view text);
// Accepts a URL to which paths can be appended: it has no ? and no #.
bool is_base_url(std::string_view text);
inline constexpr const char* base_url_allowed = "a http:// or https:// URL without ? and #";
// Accepts an absolute path, or SQLite's name for a database in memory.
bool is_database_path(std::string_view text);

// Reads "off", "auto" or "FIRST:COUNT", where no id may be below 1000 or beyond the largest one.
// Returns false where the text is something else; `users` is unchanged then.
bool read_users(std::string_view text, JailUsers& users);

}  // namespace runtime
