#include "server/api/openapi.h"

#include <string_view>

#include "runtime/service/file_url.h"
#include "runtime/service/request_fields.h"
#include "runtime/service/sandbox_requests.h"
#include "runtime/service/webhook_requests.h"
#include "server/api/kubernetes_style/create_request.h"

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
  fill_in(document, "x-sandbox-fields", properties_of(runtime::sandbox_fields(), rules));
  fill_in(document, "x-named-sandbox-fields",
          properties_of(kubernetes_style::create_fields(), rules));
  fill_in(document, "x-sandbox-change-fields",
          properties_of(runtime::sandbox_change_fields(), rules));
  fill_in(document, "x-process-fields", properties_of(runtime::process_fields(), rules));
  fill_in(document, "x-process-input-fields",
          properties_of(runtime::process_input_fields(), rules));
  fill_in(document, "x-process-signal-fields",
          properties_of(runtime::process_signal_fields(), rules));
  fill_in(document, "x-process-resize-fields",
          properties_of(runtime::process_resize_fields(), rules));
  fill_in(document, "x-file-action-fields", properties_of(runtime::file_action_fields(), rules));
  fill_in(document, "x-file-url-fields", properties_of(runtime::file_url_fields(), rules));
  fill_in(document, "x-webhook-fields", properties_of(runtime::webhook_fields(), rules));
  fill_in(document, "x-webhook-change-fields",
          properties_of(runtime::webhook_change_fields(), rules));
  fill_in(document, "x-webhook-secret-fields",
          properties_of(runtime::webhook_secret_fields(), rules));
  return document;
}

}  // namespace server
