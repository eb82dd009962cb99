#include "server/api/openapi.h"

extern "C" const char server_openapi_begin[];
extern "C" const char server_openapi_end[];

namespace server {

std::string openapi_json() { return {server_openapi_begin, server_openapi_end}; }

}  // namespace server
