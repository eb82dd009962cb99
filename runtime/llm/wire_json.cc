#include "runtime/llm/wire_json.h"

#include <algorithm>
#include <utility>

#include "runtime/config/config.h"

namespace runtime::llm {
namespace {

// Errors within a stream have a type in place of a status.
int status_of_type(std::string_view type) {
  constexpr std::pair<std::string_view, int> statuses[] = {
      {"overloaded_error", 529},
      {"rate_limit_error", 429},
      {"authentication_error", 401},
      {"permission_error", 403},
      {"not_found_error", 404},
      {"invalid_request_error", 400},
      {"request_too_large", 413},
      {"timeout_error", 504},
      {"api_error", 500},
      {"server_error", 500},
      {"billing_error", 402},
      {"RESOURCE_EXHAUSTED", 429},
      {"UNAVAILABLE", 503},
      {"INTERNAL", 500},
      {"DEADLINE_EXCEEDED", 504},
      {"UNAUTHENTICATED", 401},
      {"PERMISSION_DENIED", 403},
      {"NOT_FOUND", 404},
      {"INVALID_ARGUMENT", 400},
      {"FAILED_PRECONDITION", 400},
      {"rate_limit_exceeded", 429},
      {"invalid_api_key", 401},
  };
  for (const auto& [name, status] : statuses) {
    if (name == type) return status;
  }
  return 0;
}

int status_named_by(const json::Value& error) {
  if (const auto* code = member(error, "code"); code != nullptr && code->as_integer() != nullptr) {
    const std::int64_t number = *code->as_integer();
    if (number >= 400 && number <= 599) return static_cast<int>(number);
  }
  for (const char* key : {"type", "code", "status"}) {
    if (const int status = status_of_type(text_member(&error, key)); status != 0) return status;
  }
  return 500;
}

}  // namespace

std::string_view role_of(Speaker speaker) {
  switch (speaker) {
    case Speaker::system:
      return "system";
    case Speaker::user:
      return "user";
    case Speaker::assistant:
      return "assistant";
    case Speaker::tool:
      break;
  }
  return "tool";
}

void write_functions(json::Writer& writer, const std::vector<Tool>& tools) {
  writer.key("tools").begin_array();
  for (const Tool& tool : tools) {
    writer.begin_object().key("type").string("function").key("function").begin_object();
    writer.key("name").string(tool.name).key("description").string(tool.description);
    writer.key("parameters").json(tool.parameters).end_object().end_object();
  }
  writer.end_array();
}

std::uint64_t count_member(const json::Value* value, std::string_view key) {
  // Counts are added up as long as a task lasts: sums of these do not overflow.
  constexpr std::int64_t most = 1'000'000'000'000;
  const json::Value* found = member(value, key);
  if (found == nullptr) return 0;
  if (const auto* integer = found->as_integer()) {
    return static_cast<std::uint64_t>(std::clamp<std::int64_t>(*integer, 0, most));
  }
  const double* number = found->as_double();
  if (number == nullptr || !(*number > 0)) return 0;
  return static_cast<std::uint64_t>(std::min(*number, static_cast<double>(most)));
}

const json::Array& items_of(const json::Value* value) {
  static const json::Array none;
  const json::Array* array = value == nullptr ? nullptr : value->as_array();
  return array == nullptr ? none : *array;
}

void write_value(json::Writer& writer, const json::Value& value) {
  if (const auto* flag = value.as_bool()) {
    writer.boolean(*flag);
  } else if (const auto* integer = value.as_integer()) {
    writer.integer(*integer);
  } else if (const auto* number = value.as_double()) {
    writer.number(*number);
  } else if (const auto* text = value.as_string()) {
    writer.string(*text);
  } else if (const auto* array = value.as_array()) {
    writer.begin_array();
    for (const json::Value& item : *array) write_value(writer, item);
    writer.end_array();
  } else if (const auto* object = value.as_object()) {
    writer.begin_object();
    for (const auto& [key, item] : *object) {
      writer.key(key);
      write_value(writer, item);
    }
    writer.end_object();
  } else {
    writer.null();
  }
}

std::string text_of(const json::Value& value) {
  json::Writer writer;
  write_value(writer, value);
  return std::move(writer).take();
}

ProviderFault fault_of_error(const json::Value& error, int status) {
  ProviderFault fault;
  fault.status = status != 0 ? status : status_named_by(error);
  fault.fault = fault_of_status(fault.status);
  if (const std::string* text = error.as_string()) {
    fault.text = *text;
    return fault;
  }
  fault.text = text_member(&error, "message");
  fault.code = text_member(&error, "code");
  if (fault.code.empty()) fault.code = text_member(&error, "type");
  // A router says which provider is meant, and repeats that one's words.
  const json::Value* behind = member(error, "metadata");
  if (const std::string raw = text_member(behind, "raw"); !raw.empty()) {
    const std::string name = text_member(behind, "provider_name");
    fault.text += " (" + (name.empty() ? "" : name + ": ") + raw + ")";
  }
  return fault;
}

ProviderFault fault_of_body(int status, std::string_view body) {
  const auto root = json::parse(body, "the error");
  if (root) {
    const json::Value* value = &*root;
    // One provider streams errors as the first item of an array.
    if (!items_of(value).empty()) value = &items_of(value).front();
    if (const json::Value* error = member(value, "error"); error != nullptr) {
      return fault_of_error(*error, status);
    }
    for (const char* key : {"message", "detail"}) {
      if (const std::string text = text_member(value, key); !text.empty()) {
        return {.fault = fault_of_status(status),
                .status = status,
                .text = text,
                .code = {},
                .wait = {}};
      }
    }
  }
  return {.fault = fault_of_status(status),
          .status = status,
          .text = std::string(body),
          .code = {},
          .wait = {}};
}

ProviderFault malformed(std::string text) {
  return {.fault = Fault::malformed, .status = 0, .text = std::move(text), .code = {}, .wait = {}};
}

Models models_of(std::string_view body, std::string_view list, std::string_view key) {
  const auto root = json::parse(body, "the list of models");
  if (!root) return malformed(root.error().doing);
  const json::Value* entries = member(*root, list);
  if (entries == nullptr || entries->as_array() == nullptr) {
    return malformed("the list of models has no array \"" + std::string(list) + "\"");
  }
  std::vector<std::string> names;
  for (const json::Value& entry : *entries->as_array()) {
    // Nobody could request a model by such a text, and a terminal might obey it.
    if (std::string name = text_member(&entry, key); is_model_name(name)) {
      names.push_back(std::move(name));
    }
  }
  return names;
}

}  // namespace runtime::llm
