// What the server tells of sandboxes, processes and files, for people.
#pragma once

#include <cstddef>
#include <string>

#include "runtime/json/reader.h"

namespace server::client {

// Tables fit `width` columns of a terminal; 0: no bound.
std::string sandboxes_text(const runtime::json::Array& sandboxes, std::size_t width);
std::string processes_text(const runtime::json::Array& processes, std::size_t width);
std::string files_text(const runtime::json::Array& entries, std::size_t width);

// One a line: "name: value".
std::string sandbox_text(const runtime::json::Value& sandbox);

}  // namespace server::client
