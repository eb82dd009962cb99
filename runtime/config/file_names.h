// Names of the files that are read as configuration at the start where they exist.
#pragma once

namespace runtime {

inline constexpr const char* config_file_name = "agent-sandbox.json";
inline constexpr const char* dotenv_file_name = ".env";

}  // namespace runtime
