// What a server says in names of its interface, in the words of the command line.
#pragma once

#include <string>
#include <vector>

#include "runtime/service/volume_requests.h"

namespace server::client {

// The detail of a refusal: the field that it begins with becomes the option that sets it, and what
// is done by another field is done by its option. Other texts stay.
std::string refusal_in_options(const std::string& detail);

// The same of a refusal of a new sandbox, whose volumes are named as they were given.
std::string refusal_in_options(std::string text, const std::vector<runtime::VolumeMount>& volumes);

// The same of a refusal of `agent-sandbox volume`, where `name` is the word for the volume.
std::string refusal_of_a_volume(std::string text, const std::string& name);

// The same of a refusal of `agent-sandbox webhook`; the id is empty for a new one, whose URL is an
// argument.
std::string refusal_of_a_webhook(std::string text, const std::string& id);

// What the next request can do about a limit that was met.
std::string remedy_in_options(std::string remedy);

}  // namespace server::client
