// The description of the HTTP interface.
#pragma once

#include <string>

#include "runtime/service/request_rules.h"

namespace server {

// Returns server/openapi.yaml as JSON, with the bounds on requests' fields that `rules` set here.
std::string openapi_json(const runtime::RequestRules& rules);

}  // namespace server
