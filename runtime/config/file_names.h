// Names of the files that a start takes as its configuration where it finds them.
#pragma once

namespace runtime {

inline constexpr const char* config_file_name = "agent-sandbox.json";
inline constexpr const char* dotenv_file_name = ".env";

}  // namespace runtime
