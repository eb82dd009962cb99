// What guests and models wrote, for a terminal that may be told things by escape sequences.
#pragma once

#include <string>
#include <string_view>

namespace server {

// UTF-8 in which nothing but line feeds and tabs moves the cursor: other control characters, and
// those that turn the order of what stands around them, become U+FFFD. A carriage return before a
// line feed is dropped with nothing in its place.
std::string plain_text(std::string_view bytes);

// The same on one line, cut after `max_characters`.
std::string plain_line(std::string_view bytes, std::size_t max_characters);

// JSON in which the same characters are escapes, so that it still says the same.
std::string plain_json(std::string_view json);
// That where standard output is a terminal; elsewhere JSON as it is.
std::string json_for_standard_output(std::string_view json);

}  // namespace server
