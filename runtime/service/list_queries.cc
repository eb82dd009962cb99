#include "runtime/service/list_queries.h"

#include <limits>
#include <string>
#include <vector>

#include "runtime/service/field_readers.h"
#include "runtime/service/sandbox_event_kind.h"
#include "runtime/service/sandbox_json.h"
#include "runtime/store/job_table.h"

namespace runtime {
namespace {

using json::Value;
using Type = Field::Type;
using Words = std::vector<std::string>;

constexpr std::string_view of_another_page = "the next_cursor of another page";
constexpr std::string_view page_before = "The `next_cursor` of the page before.";

Words job_statuses(const RequestRules&) {
  return {"running",       "success", "error",     "timeout",   "failed",
          "out_of_memory", "killed",  "violation", "cancelled", "completed"};
}

Words sandbox_states(const RequestRules&) { return {"running", "paused", "ended"}; }

Words event_kinds(const RequestRules&) {
  Words words;
  for (std::size_t kind = 0; kind < sandbox_event_kinds; ++kind) {
    words.emplace_back(name_of(static_cast<SandboxEventKind>(kind)));
  }
  return words;
}

bool is_cursor_of_jobs(const std::string& text) { return is_job_cursor(text); }

constexpr RequestField<JobQuery> job_rows[] = {
    {limit_field(200, "50"), read_integer<&JobQuery::limit>},
    {cursor_field(page_before, of_another_page),
     read_text_that<&JobQuery::cursor, is_cursor_of_jobs>},
    {{.name = "status",
      .type = Type::text,
      .words = job_statuses,
      .description = "Those alone that have it."},
     read_text<&JobQuery::status>}};

constexpr RequestField<LessonQuery> lesson_rows[] = {
    {limit_field(200, "50"), read_integer<&LessonQuery::limit>},
    {cursor_field(page_before, of_another_page), read_text<&LessonQuery::cursor>}};

Complaint read_state(const Field& field, const Value& value, const RequestRules& rules,
                     Sandboxes::Query& query) {
  const std::string* const word = text_of(field, value, rules);
  if (word == nullptr) return expectation(field, rules);
  query.states = {*sandbox_state_named(*word)};
  return std::nullopt;
}

Complaint read_metadata_pair(const Field& field, const Value& value, const RequestRules& rules,
                             Sandboxes::Query& query) {
  const std::string* const pair = value.as_string();
  const std::size_t colon = pair == nullptr ? std::string::npos : pair->find(':');
  if (colon == std::string::npos) return expectation(field, rules);
  query.metadata[pair->substr(0, colon)] = pair->substr(colon + 1);
  return std::nullopt;
}

Complaint read_sandbox_cursor(const Field& field, const Value& value, const RequestRules& rules,
                              Sandboxes::Query& query) {
  const std::string* const text = value.as_string();
  const auto number = text == nullptr ? std::nullopt : digits_of(*text);
  if (!number || *number == 0) return expectation(field, rules);
  query.before = *number;
  return std::nullopt;
}

constexpr RequestField<Sandboxes::Query> sandbox_list_rows[] = {
    {{.name = "state",
      .type = Type::text,
      .expected = "running, paused or ended",
      .words = sandbox_states,
      .description = "Those alone that are in it."},
     read_state},
    {{.name = "metadata",
      .type = Type::text,
      .expected = "name:value",
      .description = "Those alone whose metadata has it: `key:value`. `metadata.KEY=value` says "
                     "the same, and may be given for several keys."},
     read_metadata_pair},
    {limit_field(200, "50"), read_integer<&Sandboxes::Query::limit>},
    {cursor_field(page_before, of_another_page), read_sandbox_cursor}};

Complaint read_event_kind(const Field& field, const Value& value, const RequestRules& rules,
                          EventListQuery& query) {
  const std::string* const word = text_of(field, value, rules);
  if (word == nullptr) return expectation(field, rules);
  query.events.kind = *word;
  return std::nullopt;
}

Complaint read_event_limit(const Field& field, const Value& value, const RequestRules& rules,
                           EventListQuery& query) {
  return read_integer<&SandboxEventQuery::limit>(field, value, rules, query.events);
}

Complaint read_event_cursor(const Field& field, const Value& value, const RequestRules& rules,
                            EventListQuery& query) {
  const std::string* const text = value.as_string();
  query.cursor = text == nullptr ? std::nullopt : event_number_of(*text);
  if (!query.cursor) return expectation(field, rules);
  return std::nullopt;
}

Complaint read_sandbox_of_events(const Field& field, const Value& value, const RequestRules& rules,
                                 EventListQuery& query) {
  return read_text<&SandboxEventQuery::sandbox>(field, value, rules, query.events);
}

constexpr RequestField<EventListQuery> kind_row = {{.name = "kind",
                                                    .type = Type::text,
                                                    .words = event_kinds,
                                                    .description = "Those alone that are of it."},
                                                   read_event_kind};
constexpr RequestField<EventListQuery> event_limit_row = {limit_field(1000, "100"),
                                                          read_event_limit};
constexpr std::string_view event_cursor =
    "the next_cursor of another page, or a number of an event";
constexpr RequestField<EventListQuery> follow_row = {
    flag_field("follow",
               "Go on as it happens, in server-sent events unless `Accept` names lines of JSON."),
    read_flag<&EventListQuery::follows>};

constexpr RequestField<EventListQuery> event_rows[] = {
    kind_row,
    event_limit_row,
    {cursor_field("The `next_cursor` of the page before, or the number of the last event that was "
                  "seen.",
                  event_cursor),
     read_event_cursor},
    follow_row};

constexpr RequestField<EventListQuery> audit_rows[] = {
    kind_row,
    event_limit_row,
    {{.name = "sandbox",
      .type = Type::text,
      .description = "The id of a sandbox, whose events alone are wanted. It may be forgotten."},
     read_sandbox_of_events},
    {cursor_field("The `next_cursor` of the page before. With `follow`, the number of the last "
                  "event that was seen.",
                  event_cursor),
     read_event_cursor},
    follow_row};

}  // namespace

std::span<const RequestField<JobQuery>> job_query_fields() noexcept { return job_rows; }
std::span<const RequestField<LessonQuery>> lesson_query_fields() noexcept { return lesson_rows; }
std::span<const RequestField<Sandboxes::Query>> sandbox_query_fields() noexcept {
  return sandbox_list_rows;
}
std::span<const RequestField<EventListQuery>> event_query_fields() noexcept { return event_rows; }
std::span<const RequestField<EventListQuery>> audit_query_fields() noexcept { return audit_rows; }

std::optional<std::uint64_t> event_number_of(std::string_view text) {
  constexpr std::uint64_t last = std::numeric_limits<std::int64_t>::max() - 1;
  const auto number = digits_of(text);
  return number && *number <= last ? number : std::nullopt;
}

}  // namespace runtime
