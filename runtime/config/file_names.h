// The names of the configuration files that a program of this project looks for in its working
// directory when it starts and when none was named.
#pragma once

namespace runtime {

inline constexpr const char* config_file_name = "agent-sandbox.json";
inline constexpr const char* dotenv_file_name = ".env";

}  // namespace runtime
