#include "runtime/service/sandbox_queries.h"

#include <vector>

#include "runtime/service/common_fields.h"
#include "runtime/service/field_readers.h"

namespace runtime {
namespace {

using json::Value;
using Type = Field::Type;
using Words = std::vector<std::string>;

constexpr std::size_t max_search_bytes = 1024;

Words stream_words(const RequestRules&) { return {"stdout", "stderr"}; }

constexpr Field encoding_field = {
    .name = "encoding",
    .type = Type::text,
    .expected = "utf-8 or base64",
    .words = encoding_words,
    .default_json = R"("utf-8")",
    .description = "In utf-8, bytes that are none come as U+FFFD; base64 leaves them untouched."};

constexpr Field from_field(std::string_view expected, std::string_view description) {
  return {.name = "from",
          .type = Type::integer,
          .expected = expected,
          .default_json = "0",
          .description = description};
}

constexpr Field directory_field = {
    .name = "path",
    .type = Type::text,
    .expected = "an absolute one",
    .description =
        "Of a directory; by default the working directory of the sandbox. A + is a "
        "space, as forms have it."};

Complaint read_process_filter(const Field& field, const Value& value, const RequestRules& rules,
                              LogQuery& query) {
  return read_integer<&OutputFilter::pid>(field, value, rules, query.output.filter);
}

Complaint read_stream_filter(const Field& field, const Value& value, const RequestRules& rules,
                             LogQuery& query) {
  const std::string* const word = text_of(field, value, rules);
  if (word == nullptr) return expectation(field, rules);
  const bool is_output = *word == "stdout";
  query.output.filter.stream = is_output ? Stream::standard_output : Stream::standard_error;
  return std::nullopt;
}

Complaint read_entries(const Field& field, const Value& value, const RequestRules& rules,
                       LogQuery& query) {
  return read_integer<&OutputQuery::max_pieces>(field, value, rules, query.output);
}

constexpr Field pid_field(std::string_view name, std::string_view description) {
  return {.name = name,
          .type = Type::integer,
          .min = 1,
          .max = INT32_MAX,
          .expected = "the pid of a process",
          .description = description};
}

constexpr RequestField<LogQuery> log_rows[] = {
    {from_field("the next of another page, or a number of bytes",
                "The first byte that is wanted; the `next` of the page before."),
     read_integer<&LogQuery::from>},
    {{.name = "tail",
      .type = Type::integer,
      .max = 10'000,
      .description = "In place of `from`, the latest lines alone, so many."},
     read_integer<&LogQuery::tail>},
    {limit_field(1000, "1000", "Of entries of a page."), read_entries},
    {pid_field("process", "The pid of the process whose output alone is wanted."),
     read_process_filter},
    {{.name = "stream",
      .type = Type::text,
      .expected = "stdout or stderr",
      .words = stream_words,
      .description = "The one that is wanted."},
     read_stream_filter},
    {encoding_field, read_word<&LogQuery::encoding, encoding_of>},
    {flag_field("follow",
                "Go on as it happens, in server-sent events unless `Accept` names lines of JSON."),
     read_flag<&LogQuery::follows>}};

constexpr RequestField<ProcessOutputQuery> process_output_rows[] = {
    {from_field("a number of bytes",
                "The first byte that is wanted; the `next` of the answer before."),
     read_integer<&ProcessOutputQuery::from>},
    {encoding_field, read_word<&ProcessOutputQuery::encoding, encoding_of>}};

template <auto member>
Complaint read_time(const Field& field, const Value& value, const RequestRules& rules,
                    UsageQuery& query) {
  const std::string* const text = value.as_string();
  const auto time = text == nullptr ? std::nullopt : time_of(*text);
  if (!time) return expectation(field, rules);
  query.*member = *time;
  return std::nullopt;
}

constexpr Field time_field(std::string_view name, std::string_view description) {
  return {.name = name,
          .type = Type::text,
          .expected = "a time such as 2026-11-21T20:16:00Z, or seconds since 1970",
          .description = description};
}

constexpr RequestField<UsageQuery> usage_rows[] = {
    {time_field("from",
                "Of the first sample that is wanted, as 2026-11-21T20:16:00Z or in seconds since "
                "1970."),
     read_time<&UsageQuery::from>},
    {time_field("to", "Of the last sample that is wanted."), read_time<&UsageQuery::to>}};

bool is_search_text(std::string_view text) {
  return !text.empty() && text.size() <= max_search_bytes &&
         text.find_first_of(std::string_view("\n\0", 2)) == text.npos;
}

constexpr RequestField<SearchQuery> search_rows[] = {
    {directory_field, read_text_that<&SearchQuery::path, is_absolute_path>},
    {{.name = "query",
      .type = Type::text,
      .min = 1,
      .max = max_search_bytes,
      .unit = "bytes without line feeds and NULs",
      .description =
          "The text as it stands in a line; no pattern. A + is a space, as forms have it.",
      .is_required = true},
     read_text_that<&SearchQuery::text, is_search_text>},
    {limit_field(1000, "100", "How many lines at most."), read_integer<&SearchQuery::limit>}};

constexpr RequestField<WatchQuery> watch_rows[] = {
    {directory_field, read_text_that<&WatchQuery::path, is_absolute_path>},
    {flag_field("recursive",
                "With all directories below it, also those that are made later; what was made in "
                "one of these before it was watched is told as created. Neither links nor mounts "
                "are followed."),
     read_flag<&WatchQuery::is_recursive>}};

constexpr RequestField<FileReadQuery> file_read_rows[] = {
    {flag_field("stat", "The entry in place of the bytes."), read_flag<&FileReadQuery::is_stat>},
    {flag_field("list", "The entries of a directory, at most 10000."),
     read_flag<&FileReadQuery::is_list>},
    {{.name = "depth",
      .type = Type::integer,
      .min = 1,
      .max = max_list_depth,
      .default_json = "1",
      .description = "How many levels `list` descends."},
     read_integer<&FileReadQuery::depth>},
    {flag_field("tar", "A directory as an archive."), read_flag<&FileReadQuery::is_tar>}};

Complaint read_mode(const Field& field, const Value& value, const RequestRules& rules,
                    FileWriteQuery& query) {
  const std::string* const text = text_of(field, value, rules);
  if (text == nullptr || text->find_first_not_of("01234567") != text->npos) {
    return expectation(field, rules);
  }
  const unsigned long mode = std::stoul(*text, nullptr, 8);
  if (mode > 0777) return expectation(field, rules);
  query.mode = static_cast<std::uint32_t>(mode);
  return std::nullopt;
}

constexpr RequestField<FileWriteQuery> file_write_rows[] = {
    {{.name = "mode",
      .type = Type::text,
      .min = 1,
      .max = 4,
      .expected = "0000 .. 0777",
      .description = "Of the new file, in octal digits; by default 0644.",
      .schema = {{"pattern", R"("^[0-7]{3,4}$")"}}},
     read_mode}};

constexpr RequestField<FileRemoveQuery> file_remove_rows[] = {
    {flag_field("recursive", "A directory with all that is in it."),
     read_flag<&FileRemoveQuery::is_recursive>}};

template <auto member>
Complaint read_terminal_side(const Field& field, const Value& value, const RequestRules& rules,
                             TerminalQuery& query) {
  query.has_size = true;
  return read_integer<member>(field, value, rules, query.size);
}

Complaint read_shell_command(const Field&, const Value& value, const RequestRules& rules,
                             TerminalQuery& query) {
  const auto& row = *find_row(process_fields(), "command");
  return row.read(row.field, value, rules, query.process);
}

Complaint read_pid(const Field& field, const Value& value, const RequestRules& rules,
                   TerminalQuery& query) {
  const std::int64_t* const pid = value.as_integer();
  if (pid == nullptr || !is_within(field, static_cast<double>(*pid), rules)) {
    return expectation(field, rules);
  }
  query.pid = std::to_string(*pid);
  return std::nullopt;
}

constexpr RequestField<TerminalQuery> terminal_rows[] = {
    {side_field("columns", "80"), read_terminal_side<&ResizeRequest::columns>},
    {side_field("rows", "24"), read_terminal_side<&ResizeRequest::rows>},
    {{.name = "command",
      .type = Type::text,
      .min = 1,
      .description = "For bash -c, in place of the shell. A + is a space, as forms have it."},
     read_shell_command},
    {pid_field("pid", "Of a process that was started with `pty`."), read_pid}};

}  // namespace

std::span<const RequestField<LogQuery>> log_query_fields() noexcept { return log_rows; }
std::span<const RequestField<ProcessOutputQuery>> process_output_query_fields() noexcept {
  return process_output_rows;
}
std::span<const RequestField<UsageQuery>> usage_query_fields() noexcept { return usage_rows; }
std::span<const RequestField<SearchQuery>> search_query_fields() noexcept { return search_rows; }
std::span<const RequestField<WatchQuery>> watch_query_fields() noexcept { return watch_rows; }
std::span<const RequestField<FileReadQuery>> file_read_query_fields() noexcept {
  return file_read_rows;
}
std::span<const RequestField<FileWriteQuery>> file_write_query_fields() noexcept {
  return file_write_rows;
}
std::span<const RequestField<FileRemoveQuery>> file_remove_query_fields() noexcept {
  return file_remove_rows;
}
std::span<const RequestField<TerminalQuery>> terminal_query_fields() noexcept {
  return terminal_rows;
}

std::optional<Refusal> check_log_query(const LogQuery& query) {
  if (!query.tail || !query.from) return std::nullopt;
  return refuse_request("tail: expected without from, since either says where to begin");
}

std::optional<Refusal> check_file_read(const FileReadQuery& query) {
  if (query.depth && !query.is_list) return refuse_request("depth: only with list=true");
  if (query.is_stat + query.is_list + query.is_tar > 1) {
    return refuse_request("stat, list, tar: expected one of them");
  }
  return std::nullopt;
}

std::optional<Refusal> check_terminal_query(const TerminalQuery& query) {
  if (query.pid.empty() || query.process.argv.empty()) return std::nullopt;
  return refuse_request("pid, command: expected at most one of them");
}

}  // namespace runtime
