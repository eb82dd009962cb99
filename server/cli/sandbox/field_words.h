// What a server says in names of its interface, in the words of the command line.
#pragma once

#include <string>

namespace server::client {

// The detail of a refusal: the field that it begins with becomes the option that sets it, and what
// is done by another field is done by its option. Other texts stay.
std::string refusal_in_options(const std::string& detail);

// What the next request can do about a limit that was met.
std::string remedy_in_options(std::string remedy);

}  // namespace server::client
