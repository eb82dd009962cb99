// Webhooks as a server answers them, as text for people.
#pragma once

#include <cstddef>
#include <string>

#include "runtime/json/reader.h"

namespace server::client {

// A table, of at most `width` columns (0: no bound).
std::string webhooks_text(const runtime::json::Array& webhooks, std::size_t width);
// One, line by line; its secret is the last one where the server shows it.
std::string webhook_text(const runtime::json::Value& webhook);
// How a try to deliver went, as one line.
std::string webhook_try_text(const runtime::json::Value& attempt);

}  // namespace server::client
