#include "server/api/openapi.h"

#include <string_view>

#include "runtime/service/request_fields.h"

extern "C" const char server_openapi_begin[];
extern "C" const char server_openapi_end[];

namespace server {
namespace {

// The description has each placeholder once; openapi_test.py would find one that is left.
void fill_in(std::string& document, std::string_view name, const std::string& properties) {
  const std::string placeholder = "{\"" + std::string(name) + "\":true}";
  document.replace(document.find(placeholder), placeholder.size(), properties);
}

}  // namespace

std::string openapi_json(const runtime::RequestRules& rules) {
  std::string document(server_openapi_begin, server_openapi_end);
  fill_in(document, "x-code-fields", properties_of(runtime::program_fields(), rules));
  fill_in(document, "x-task-fields", properties_of(runtime::task_fields(), rules));
  fill_in(document, "x-benchmark-fields", properties_of(runtime::benchmark_fields(), rules));
  return document;
}

}  // namespace server
