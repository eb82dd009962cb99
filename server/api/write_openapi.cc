// Writes the description of the HTTP interface, with the defaults of the configuration, to standard
// output: the document that packages contain.
#include <iostream>

#include "server/api/api.h"
#include "server/api/openapi.h"

int main() {
  const auto options = server::api_options({}, {}, runtime::shipped_templates(), {});
  std::cout << server::openapi_json(options.execute) << std::flush;
  return std::cout.good() ? 0 : 1;
}
