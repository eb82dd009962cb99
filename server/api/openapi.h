// The document that server/openapi.yaml becomes when the server is built.
#pragma once

#include <string>

namespace server {

std::string openapi_json();

}  // namespace server
