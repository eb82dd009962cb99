// The descriptions of fields in runtime/service agree with decoding.
#include "runtime/service/request_fields.h"

#include <gmock/gmock.h>

#include "runtime/json/reader.h"
#include "runtime/service/sandbox_requests.h"
#include "server/api/openapi.h"

namespace runtime {
namespace {

using namespace std::chrono_literals;
using json::Object;
using json::Value;
using ::testing::HasSubstr;

RequestRules make_rules() {
  RequestRules rules;
  rules.default_timeout = 7s;
  rules.default_memory_limit_mb = 300;
  rules.ceilings = {.timeout = 90s, .memory_limit_mb = 512};
  rules.templates = shipped_templates();
  rules.tasks.default_max_attempts = 4;
  rules.tasks.providers = {{"groq", ""}, {"replay", "not here"}};
  rules.suites = {"quick", "full"};
  return rules;
}

const RequestRules rules = make_rules();

// Returns the schemas of the three requests, as the server publishes them.
Object schemas() {
  const auto document = json::parse(server::openapi_json(rules), "openapi");
  EXPECT_TRUE(document.has_value()) << document.error().message();
  const Object& components = *document->as_object()->at("components").as_object();
  return *components.at("schemas").as_object();
}

Object properties_in(const Object& schemas, const std::string& name) {
  return *schemas.at(name).as_object()->at("properties").as_object();
}

// Reads the field's default in its schema into a request that has defaults.
template <class Request>
void read_defaults(std::span<const RequestField<Request>> fields, const Object& properties,
                   Request& request) {
  int read = 0;
  for (const auto& row : fields) {
    const Field& field = row.field;
    const Object& schema = *properties.at(std::string(field.name)).as_object();
    if (!schema.contains("default")) continue;
    EXPECT_EQ(read_field(row, schema.at("default"), rules, request), std::nullopt) << field.name;
    ++read;
  }
  EXPECT_GE(read, 2);
}

TEST(RequestFields, DefaultsThatAreSpelledOutChangeNothing) {
  const Object published = schemas();
  RunRequest program;  // without the operator's defaults
  read_defaults(program_fields(), properties_in(published, "CodeRequest"), program);
  const RunRequest expected = default_program(rules);
  EXPECT_EQ(program.timeout, expected.timeout);
  EXPECT_EQ(program.memory_limit_mb, expected.memory_limit_mb);
  EXPECT_EQ(program.language, expected.language);
  EXPECT_EQ(program.standard_input, expected.standard_input);
  EXPECT_EQ(program.output_encoding, expected.output_encoding);
  agent::TaskRequest task;
  read_defaults(task_fields(), properties_in(published, "TaskRequest"), task);
  const agent::TaskRequest as_is = default_task(rules);
  EXPECT_EQ(task.timeout, 7s);
  EXPECT_EQ(task.max_attempts, as_is.max_attempts);
  EXPECT_EQ(task.candidates, as_is.candidates);
  EXPECT_EQ(task.team, as_is.team);
  EXPECT_EQ(task.tests_by_model, as_is.tests_by_model);
  EXPECT_EQ(task.lessons, as_is.lessons);
  BenchmarkRequest benchmark;
  read_defaults(benchmark_fields(), properties_in(published, "BenchmarkRequest"), benchmark);
  EXPECT_EQ(benchmark.suite, default_benchmark(rules).suite);
  EXPECT_EQ(benchmark.max_attempts, 4u);
}

template <class Request>
void check_bounds(std::span<const RequestField<Request>> fields, const Object& properties) {
  EXPECT_EQ(properties.size(), fields.size());
  for (const auto& row : fields) {
    const Field& field = row.field;
    Request request;
    EXPECT_NE(read_field(row, Value(), rules, request), std::nullopt) << field.name;
    if (field.type != Field::Type::integer) continue;
    const Object& schema = *properties.at(std::string(field.name)).as_object();
    const std::int64_t low = *schema.at("minimum").as_integer();
    const std::int64_t high = *schema.at("maximum").as_integer();
    for (const auto& [number, is_taken] :
         {std::pair(low - 1, false), {low, true}, {high, true}, {high + 1, false}}) {
      const auto refusal =
          read_field(row, Value(Value::Variant(std::int64_t{number})), rules, request);
      EXPECT_EQ(!refusal.has_value(), is_taken) << field.name << " " << number;
      if (!refusal) continue;
      EXPECT_EQ(refusal->code, RefusalCode::out_of_range);
      EXPECT_EQ(refusal->limit, static_cast<double>(number < low ? low : high));
      EXPECT_EQ(refusal->used, static_cast<double>(number));
      EXPECT_EQ(refusal->detail, std::string(field.name) + ": expected an integer " +
                                     std::to_string(low) + " .. " + std::to_string(high));
    }
  }
}

TEST(RequestFields, PublishedBoundsAreThoseOfDecoding) {
  const Object published = schemas();
  check_bounds(program_fields(), properties_in(published, "CodeRequest"));
  check_bounds(task_fields(), properties_in(published, "TaskRequest"));
  check_bounds(benchmark_fields(), properties_in(published, "BenchmarkRequest"));
  check_bounds(process_fields(), properties_in(published, "StartProcess"));
  check_bounds(process_input_fields(), properties_in(published, "ProcessInput"));
  check_bounds(process_signal_fields(), properties_in(published, "ProcessSignal"));
  check_bounds(job_signal_fields(), properties_in(published, "JobSignal"));
  check_bounds(process_resize_fields(), properties_in(published, "ProcessResize"));
  check_bounds(file_action_fields(), properties_in(published, "FileAction"));
}

TEST(RequestFields, MembersOfAnObjectArePublishedWithIt) {
  const Object of_sandboxes = properties_in(schemas(), "CreateSandbox");
  const Object& limits = *of_sandboxes.at("limits").as_object();
  EXPECT_EQ(*limits.at("type").as_string(), "object");
  const Object& members = *limits.at("properties").as_object();
  EXPECT_EQ(members.size(), 4u);
  EXPECT_EQ(*members.at("memory_mb").as_object()->at("maximum").as_integer(), 512);
  EXPECT_TRUE(members.at("processes").as_object()->contains("default"));
  const Object of_changes = properties_in(schemas(), "ChangeSandbox");
  const Object& new_limits = *of_changes.at("limits").as_object();
  for (const auto& [name, field] : *new_limits.at("properties").as_object()) {
    EXPECT_TRUE(members.contains(name)) << name;
    EXPECT_FALSE(field.as_object()->contains("default")) << name << " stays where it is left out";
  }
}

TEST(RequestFields, AreFoundByName) {
  ASSERT_NE(find_field(program_fields(), "timeout_seconds"), nullptr);
  EXPECT_EQ(range_of(*find_field(program_fields(), "timeout_seconds"), rules), "0.05 .. 90");
  EXPECT_EQ(find_field(program_fields(), "max_attempts"), nullptr);
  EXPECT_EQ(find_field(program_fields(), ""), nullptr);
}

TEST(RequestFields, WordsAreThoseOfThisServer) {
  const Field& provider = *find_field(task_fields(), "provider");
  EXPECT_EQ(expectation(provider, rules), "expected one of groq, replay");
  const Field& name = *find_field(program_fields(), "template");
  EXPECT_THAT(expectation(name, rules), HasSubstr("one of none, bash"));
}

}  // namespace
}  // namespace runtime
