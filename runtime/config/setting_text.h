// What the texts of settings may look like.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "runtime/config/config.h"

namespace runtime {

// Of ASCII alone.
std::string lower(std::string_view text);
std::string upper(std::string_view text);

// Comma separated, blanks around the items dropped; nothing where an item is empty.
std::optional<std::vector<std::string>> items(std::string_view text);

bool is_visible_ascii(std::string_view text);
// 1 to 64 ASCII letters, digits, ".", "_" and "-".
bool is_tenant_name(std::string_view text);
// One that paths can be put behind: what follows ? or # is none.
bool is_base_url(std::string_view text);
// An absolute path, or SQLite's name for a database in memory.
bool is_database_path(std::string_view text);

// "off", "auto" or "FIRST:COUNT", with no id below 1000 and none beyond the last. False: it is none
// of them, and `users` is as before.
bool read_users(std::string_view text, JailUsers& users);

}  // namespace runtime
