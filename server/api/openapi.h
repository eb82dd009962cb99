// The description of the HTTP interface.
#pragma once

#include <string>

#include "runtime/service/request_rules.h"

namespace server {

// server/openapi.yaml as JSON, with the fields of requests as `rules` allow them here.
std::string openapi_json(const runtime::RequestRules& rules);

}  // namespace server
