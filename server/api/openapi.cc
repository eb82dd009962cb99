#include "server/api/openapi.h"

#include <span>
#include <string_view>
#include <vector>

#include "runtime/service/file_url.h"
#include "runtime/service/list_queries.h"
#include "runtime/service/request_fields.h"
#include "runtime/service/sandbox_queries.h"
#include "runtime/service/sandbox_requests.h"
#include "runtime/service/volume_requests.h"
#include "runtime/service/webhook_requests.h"
#include "server/api/kubernetes_style/create_request.h"
#include "server/api/kubernetes_style/queries.h"

extern "C" const char server_openapi_begin[];
extern "C" const char server_openapi_end[];

namespace server {
namespace {

// Replaces every occurrence of the placeholder in the description; openapi_test.py would find one
// that is left.
void fill_in(std::string& document, const std::string& placeholder, const std::string& text) {
  for (auto at = document.find(placeholder); at != document.npos;
       at = document.find(placeholder, at + text.size())) {
    document.replace(at, placeholder.size(), text);
  }
}

std::string array_of(const std::vector<std::string>& texts) {
  runtime::json::Writer writer;
  writer.begin_array();
  for (const std::string& text : texts) writer.string(text);
  writer.end_array();
  return std::move(writer).take();
}

std::string refusal_codes() {
  std::vector<std::string> codes;
  for (const auto& kind : runtime::refusal_kinds()) codes.emplace_back(kind.name);
  return array_of(codes);
}

// Describes the fields of a body: the properties of its schema, and which of them are required.
template <class Request>
void list_fields(std::string& document, std::string_view name,
                 std::span<const runtime::RequestField<Request>> fields,
                 const runtime::RequestRules& rules) {
  fill_in(document, "{\"" + std::string(name) + "\":true}", properties_of(fields, rules));
  fill_in(document, "[\"" + std::string(name) + "\"]", array_of(required_names(fields)));
}

// Describes query parameters: several in place of one.
template <class Request>
void list_parameters(std::string& document, std::string_view name,
                     std::span<const runtime::RequestField<Request>> fields,
                     const runtime::RequestRules& rules) {
  fill_in(document, "{\"name\":\"" + std::string(name) + R"(","in":"query","schema":true})",
          runtime::parameter_objects(fields, rules));
}

void list_all_parameters(std::string& document, const runtime::RequestRules& rules) {
  namespace named = kubernetes_style;
  list_parameters(document, "x-jobs-query", runtime::job_query_fields(), rules);
  list_parameters(document, "x-lessons-query", runtime::lesson_query_fields(), rules);
  list_parameters(document, "x-sandboxes-query", runtime::sandbox_query_fields(), rules);
  list_parameters(document, "x-volumes-query", runtime::volume_query_fields(), rules);
  list_parameters(document, "x-events-query", runtime::event_query_fields(), rules);
  list_parameters(document, "x-audit-query", runtime::audit_query_fields(), rules);
  list_parameters(document, "x-logs-query", runtime::log_query_fields(), rules);
  list_parameters(document, "x-output-query", runtime::process_output_query_fields(), rules);
  list_parameters(document, "x-metrics-query", runtime::usage_query_fields(), rules);
  list_parameters(document, "x-search-query", runtime::search_query_fields(), rules);
  list_parameters(document, "x-watch-query", runtime::watch_query_fields(), rules);
  // The signature is a security scheme; without it the URL has no other parameter of its own.
  runtime::Field expires = runtime::signed_url_query_fields()[0].field;
  expires.is_required = false;
  fill_in(document, R"({"name":"x-signed-url-query","in":"query","schema":true})",
          runtime::parameter_object(expires, rules));
  list_parameters(document, "x-read-file-query", runtime::file_read_query_fields(), rules);
  list_parameters(document, "x-write-file-query", runtime::file_write_query_fields(), rules);
  list_parameters(document, "x-remove-file-query", runtime::file_remove_query_fields(), rules);
  list_parameters(document, "x-terminal-query", runtime::terminal_query_fields(), rules);
  list_parameters(document, "x-named-logs-query", named::lines_query_fields(), rules);
  list_parameters(document, "x-named-events-query", named::events_query_fields(), rules);
  list_parameters(document, "x-named-list-query", named::directory_query_fields(), rules);
  list_parameters(document, "x-named-download-query", named::file_query_fields(), rules);
  list_parameters(document, "x-named-upload-query", named::directory_query_fields(), rules);
  list_parameters(document, "x-named-removal-query", named::removal_query_fields(), rules);
}

}  // namespace

std::string openapi_json(const runtime::RequestRules& rules) {
  std::string document(server_openapi_begin, server_openapi_end);
  list_fields(document, "x-code-fields", runtime::program_fields(), rules);
  list_fields(document, "x-task-fields", runtime::task_fields(), rules);
  list_fields(document, "x-benchmark-fields", runtime::benchmark_fields(), rules);
  list_fields(document, "x-sandbox-fields", runtime::sandbox_fields(), rules);
  list_fields(document, "x-named-sandbox-fields", kubernetes_style::create_fields(), rules);
  list_fields(document, "x-sandbox-change-fields", runtime::sandbox_change_fields(), rules);
  list_fields(document, "x-process-fields", runtime::process_fields(), rules);
  list_fields(document, "x-process-input-fields", runtime::process_input_fields(), rules);
  list_fields(document, "x-process-signal-fields", runtime::process_signal_fields(), rules);
  list_fields(document, "x-job-signal-fields", runtime::job_signal_fields(), rules);
  list_fields(document, "x-process-resize-fields", runtime::process_resize_fields(), rules);
  list_fields(document, "x-file-action-fields", runtime::file_action_fields(), rules);
  list_fields(document, "x-file-url-fields", runtime::file_url_fields(), rules);
  list_fields(document, "x-volume-fields", runtime::volume_fields(), rules);
  list_fields(document, "x-volume-change-fields", runtime::volume_change_fields(), rules);
  list_fields(document, "x-webhook-fields", runtime::webhook_fields(), rules);
  list_fields(document, "x-webhook-change-fields", runtime::webhook_change_fields(), rules);
  list_fields(document, "x-webhook-secret-fields", runtime::webhook_secret_fields(), rules);
  list_all_parameters(document, rules);
  fill_in(document, R"("x-enum":"refusal-codes")", "\"enum\":" + refusal_codes());
  return document;
}

}  // namespace server
