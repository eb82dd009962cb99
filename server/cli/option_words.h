// What a request was refused for, in the words of the command line.
#pragma once

#include <string>

namespace server {

// `detail` begins with the name of a field of the request, which is replaced by its option:
// "files: expected ..." becomes "--file: expected ...". Other texts stay.
std::string in_options(const std::string& detail);

// The same of a refusal of a server, whose bounds are not those of this program.
std::string in_options_for_server(const std::string& detail);

}  // namespace server
