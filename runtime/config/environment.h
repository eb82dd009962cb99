// The environment as a value, and the file that people keep beside their project.
#pragma once

#include <map>
#include <string>
#include <string_view>

#include "jail/result.h"

namespace runtime {

using Environment = std::map<std::string, std::string, std::less<>>;

// This process's environment, read once; nothing else in the program looks at it.
Environment process_environment();

// Lines NAME=value, with `export ` before and quotes around the value where somebody likes them,
// comments from # on. Between double quotes \n \t \" \\ \$ are escapes; nothing is expanded.
// Errors name `what` and the line.
jail::Result<Environment> parse_dotenv(std::string_view text, std::string_view what);

}  // namespace runtime
