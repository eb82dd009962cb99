// The tables of query parameters.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "runtime/json/reader.h"
#include "runtime/service/list_queries.h"
#include "runtime/service/sandbox_queries.h"

namespace runtime {
namespace {

using ::testing::HasSubstr;

template <class Request>
Complaint complaint_of(std::span<const RequestField<Request>> fields, const QueryTexts& texts) {
  Request request;
  const auto refusal = read_parameters(texts, fields, request);
  if (!refusal) return std::nullopt;
  return refusal->detail;
}

TEST(Queries, AFlagIsAYesOrANo) {
  for (const auto& [text, expected] : std::map<std::string, bool>{
           {"true", true}, {"1", true}, {"", true}, {"false", false}, {"0", false}}) {
    FileRemoveQuery query{.is_recursive = !expected};
    EXPECT_EQ(read_parameters({{"recursive", text}}, file_remove_query_fields(), query),
              std::nullopt);
    EXPECT_EQ(query.is_recursive, expected) << text;
  }
  EXPECT_EQ(complaint_of(file_remove_query_fields(), {{"recursive", "yes"}}),
            "recursive: expected true or false");
}

TEST(Queries, Jobs) {
  JobQuery query;
  const QueryTexts texts = {{"limit", "200"}, {"status", "timeout"}};
  EXPECT_EQ(read_parameters(texts, job_query_fields(), query), std::nullopt);
  EXPECT_EQ(query.limit, 200u);
  EXPECT_EQ(query.status, "timeout");
  for (const char* wrong : {"0", "201", "x", "-1", "1.0", "", "18446744073709551615"}) {
    EXPECT_EQ(complaint_of(job_query_fields(), {{"limit", wrong}}),
              "limit: expected an integer 1 .. 200")
        << wrong;
  }
  EXPECT_THAT(*complaint_of(job_query_fields(), {{"status", "fine"}}),
              HasSubstr("status: expected one of running, success, "));
  EXPECT_EQ(complaint_of(job_query_fields(), {{"cursor", "x"}}),
            "cursor: expected the next_cursor of another page");
}

TEST(Queries, Sandboxes) {
  Sandboxes::Query query;
  const QueryTexts texts = {{"state", "paused"}, {"metadata", "a:b:c"}, {"cursor", "7"}};
  EXPECT_EQ(read_parameters(texts, sandbox_query_fields(), query), std::nullopt);
  EXPECT_EQ(query.states, std::vector{Sandbox::State::paused});
  EXPECT_EQ(query.metadata, (Metadata{{"a", "b:c"}}));
  EXPECT_EQ(query.before, 7u);
  EXPECT_EQ(complaint_of(sandbox_query_fields(), {{"state", "gone"}}),
            "state: expected running, paused or ended");
  EXPECT_EQ(complaint_of(sandbox_query_fields(), {{"metadata", "a"}}),
            "metadata: expected name:value");
  EXPECT_EQ(complaint_of(sandbox_query_fields(), {{"cursor", "0"}}),
            "cursor: expected the next_cursor of another page");
}

TEST(Queries, Logs) {
  LogQuery query;
  const QueryTexts texts = {{"from", "5000000000"}, {"process", "12"}, {"stream", "stderr"}};
  EXPECT_EQ(read_parameters(texts, log_query_fields(), query), std::nullopt);
  EXPECT_EQ(query.from, 5000000000u);
  EXPECT_EQ(query.output.filter.pid, 12);
  EXPECT_EQ(query.output.filter.stream, Stream::standard_error);
  EXPECT_EQ(check_log_query(query), std::nullopt);
  query.tail = 0;
  EXPECT_THAT(check_log_query(query)->detail, HasSubstr("tail: expected without from"));
  EXPECT_EQ(complaint_of(log_query_fields(), {{"process", "2147483648"}}),
            "process: expected the pid of a process");
}

TEST(Queries, ASearchWantsAText) {
  EXPECT_EQ(complaint_of(search_query_fields(), {}),
            "query: expected a string of 1 .. 1024 bytes without line feeds and NULs");
  for (const std::string& wrong : {std::string(), std::string(1025, 'a'), std::string("a\nb")}) {
    EXPECT_NE(complaint_of(search_query_fields(), {{"query", wrong}}), std::nullopt);
  }
  EXPECT_EQ(complaint_of(search_query_fields(), {{"query", std::string(1024, 'a')}}), std::nullopt);
}

TEST(Queries, Modes) {
  FileWriteQuery query;
  EXPECT_EQ(read_parameters({{"mode", "0755"}}, file_write_query_fields(), query), std::nullopt);
  EXPECT_EQ(query.mode, 0755u);
  for (const char* wrong : {"", "1000", "8", "07777", "rwx"}) {
    EXPECT_EQ(complaint_of(file_write_query_fields(), {{"mode", wrong}}),
              "mode: expected 0000 .. 0777")
        << wrong;
  }
}

TEST(Queries, ATerminalIsOfOneProcess) {
  TerminalQuery query;
  const QueryTexts texts = {{"columns", "100"}, {"command", "top"}};
  EXPECT_EQ(read_parameters(texts, terminal_query_fields(), query), std::nullopt);
  EXPECT_TRUE(query.has_size);
  EXPECT_EQ(query.size.columns, 100u);
  EXPECT_EQ(query.size.rows, 24u);
  EXPECT_EQ(query.process.argv.back(), "top");
  query.pid = "1";
  EXPECT_EQ(check_terminal_query(query)->detail, "pid, command: expected at most one of them");
}

TEST(Queries, TheirParametersInOpenApi) {
  const auto described =
      json::parse("[" + parameter_objects(search_query_fields(), {}) + "]", "parameters");
  ASSERT_TRUE(described);
  const json::Object& query = *(*described->as_array())[1].as_object();
  EXPECT_EQ(*query.at("name").as_string(), "query");
  EXPECT_EQ(*query.at("in").as_string(), "query");
  EXPECT_TRUE(*query.at("required").as_bool());
  EXPECT_EQ(*query.at("schema").as_object()->at("maxLength").as_integer(), 1024);
  const json::Object& path = *(*described->as_array())[0].as_object();
  EXPECT_FALSE(*path.at("required").as_bool());
}

}  // namespace
}  // namespace runtime
