#include "server/api/kubernetes_style/envelope.h"

#include <algorithm>
#include <utility>

#include "runtime/json/reader.h"
#include "runtime/refusals/refusal_code.h"

namespace server::kubernetes_style {
namespace {

using runtime::json::Writer;

std::string text_in(const runtime::json::Object& object, std::string_view name) {
  const auto found = object.find(name);
  const std::string* const text = found == object.end() ? nullptr : found->second.as_string();
  return text == nullptr ? std::string() : *text;
}

std::string_view code_of(int status) {
  switch (status) {
    case 401:
      return "401";
    case 413:
      return "413";
    case 429:
      return "429";
    default:
      return "500";
  }
}

// Returns the text of a problem, with its remedy.
std::string words_of(const Response& problem) {
  if (problem.status == 401) return "Unauthorized";
  const auto read = runtime::json::parse(problem.body, "problem");
  const auto* const members = read ? read->as_object() : nullptr;
  if (members == nullptr) return std::string(reason_phrase(problem.status));
  const std::string detail = text_in(*members, "detail");
  const std::string remedy = text_in(*members, "remedy");
  // Clients of this protocol compare some texts, so the general remedy of a code is left out.
  const std::string code = text_in(*members, "code");
  const bool is_of_code = std::ranges::any_of(
      runtime::refusal_kinds(),
      [&](const runtime::RefusalKind& kind) { return kind.name == code && kind.remedy == remedy; });
  return remedy.empty() || is_of_code || remedy == detail ? detail : detail + "; " + remedy;
}

}  // namespace

Response enveloped(std::string_view data) {
  Writer writer;
  writer.begin_object().key("code").string("0").key("data").json(data).end_object();
  Response response;
  response.body = std::move(writer).take();
  return response;
}

Response enveloped(Writer data) { return enveloped(std::move(data).take()); }

Response enveloped_text(std::string_view text) {
  Writer writer;
  writer.string(text);
  return enveloped(std::move(writer));
}

Response in_envelope(const Response& problem) {
  Writer writer;
  writer.begin_object().key("code").string(code_of(problem.status));
  writer.key("error").string(words_of(problem)).end_object();
  Response response = problem;
  response.content_type = "application/json";
  response.body = std::move(writer).take();
  return response;
}

}  // namespace server::kubernetes_style
