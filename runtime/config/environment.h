// The environment as a value, and the .env file that people keep beside their project.
#pragma once

#include <map>
#include <string>
#include <string_view>

#include "jail/result.h"

namespace runtime {

using Environment = std::map<std::string, std::string, std::less<>>;

// Reads this process's environment; no other code of the program reads it.
Environment process_environment();

// Parses lines NAME=value. They may begin with `export `, the value may be quoted, and comments
// begin with #. Between double quotes \n \t \" \\ \$ are escapes; nothing is expanded. Errors name
// `what` and the line.
jail::Result<Environment> parse_dotenv(std::string_view text, std::string_view what);
// The same of a file that another program may have: lines that are no NAME=value are left out.
Environment parse_strangers_dotenv(std::string_view text);

}  // namespace runtime
