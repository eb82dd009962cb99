#include "server/api/kubernetes_style/queries.h"

#include <algorithm>
#include <string_view>

#include "runtime/service/field_readers.h"
#include "runtime/service/query.h"
#include "runtime/service/sandbox_requests.h"

namespace server::kubernetes_style {
namespace {

using runtime::Complaint;
using runtime::Field;
using runtime::RequestField;
using Type = Field::Type;

constexpr RequestField<LinesQuery> lines_rows[] = {{{.name = "tailLines",
                                                     .type = Type::integer,
                                                     .min = 1,
                                                     .max = 2000,
                                                     .default_json = "200",
                                                     .description = "How many lines."},
                                                    runtime::read_integer<&LinesQuery::lines>}};

constexpr RequestField<NamedEventsQuery> events_rows[] = {
    {{.name = "sandbox",
      .type = Type::text,
      .description = "The name or id of one; without it, all of the caller's."},
     runtime::read_text<&NamedEventsQuery::sandbox>},
    {runtime::limit_field(500, "100", "How many."),
     runtime::read_integer<&NamedEventsQuery::limit>}};

bool has_parent_segment(std::string_view path) {
  while (!path.empty()) {
    const std::string_view segment = path.substr(0, path.find('/'));
    path.remove_prefix(std::min(segment.size() + 1, path.size()));
    if (segment == "..") return true;
  }
  return false;
}

Complaint read_named_path(const Field& field, const runtime::json::Value& value,
                          const runtime::RequestRules& rules, PathQuery& query) {
  const std::string* const path = value.as_string();
  if (path == nullptr || !runtime::is_absolute_path(*path)) {
    return runtime::expectation(field, rules);
  }
  if (has_parent_segment(*path)) return "expected one without ..";
  query.path = *path;
  return std::nullopt;
}

constexpr Field path_field(std::string_view description, bool is_required) {
  return {.name = "path",
          .type = Type::text,
          .expected = "an absolute one",
          .description = description,
          .is_required = is_required};
}

constexpr RequestField<PathQuery> directory_rows[] = {
    {path_field("An absolute path in the sandbox; /workspace without it.", false),
     read_named_path}};
constexpr RequestField<PathQuery> file_rows[] = {
    {path_field("An absolute path in the sandbox.", true), read_named_path}};
constexpr RequestField<PathQuery> removal_rows[] = {
    file_rows[0],
    {runtime::flag_field("recursive", "Whether a directory goes with what is in it."),
     runtime::read_flag<&PathQuery::is_recursive>}};

}  // namespace

std::span<const RequestField<LinesQuery>> lines_query_fields() noexcept { return lines_rows; }
std::span<const RequestField<NamedEventsQuery>> events_query_fields() noexcept {
  return events_rows;
}
std::span<const RequestField<PathQuery>> directory_query_fields() noexcept {
  return directory_rows;
}
std::span<const RequestField<PathQuery>> file_query_fields() noexcept { return file_rows; }
std::span<const RequestField<PathQuery>> removal_query_fields() noexcept { return removal_rows; }

}  // namespace server::kubernetes_style
