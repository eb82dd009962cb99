#include "server/api/decode_benchmark.h"

#include <algorithm>
#include <span>

#include "server/api/decode_fields.h"
#include "server/api/decode_task.h"

namespace server {
namespace {

using runtime::json::Value;

Complaint read_suite(const Value& value, const runtime::RequestRules& rules,
                     BenchmarkRequest& request) {
  const std::string* name = value.as_string();
  const auto& suites = rules.suites;
  if (name == nullptr || std::find(suites.begin(), suites.end(), *name) == suites.end()) {
    std::string names;
    for (const std::string& suite : suites) names += (names.empty() ? "" : ", ") + suite;
    return "expected one of " + names;
  }
  request.suite = *name;
  return std::nullopt;
}

Complaint read_problems(const Value& value, const runtime::RequestRules&,
                        BenchmarkRequest& request) {
  if (!is_integer_in(value, 1, most_problems)) {
    return "expected an integer 1 .. " + std::to_string(most_problems);
  }
  request.max_problems = static_cast<std::uint32_t>(*value.as_integer());
  return std::nullopt;
}

Complaint read_most_attempts(const Value& value, const runtime::RequestRules&,
                             BenchmarkRequest& request) {
  return read_attempts(value, request.max_attempts);
}

Complaint read_its_provider(const Value& value, const runtime::RequestRules& rules,
                            BenchmarkRequest& request) {
  return read_provider(value, rules, request.provider);
}

Complaint read_its_model(const Value& value, const runtime::RequestRules&,
                         BenchmarkRequest& request) {
  return read_model(value, request.model);
}

constexpr Field<BenchmarkRequest> benchmark_fields[] = {{"suite", read_suite},
                                                        {"max_problems", read_problems},
                                                        {"max_attempts", read_most_attempts},
                                                        {"provider", read_its_provider},
                                                        {"model", read_its_model}};

Complaint nowhere_else(std::string_view) { return std::nullopt; }

}  // namespace

std::variant<BenchmarkRequest, Response> decode_benchmark(std::string_view body,
                                                          const runtime::RequestRules& rules) {
  const auto parsed = runtime::json::parse(body, "body");
  if (!parsed) return problem(400, parsed.error().message());
  const runtime::json::Object* object = parsed->as_object();
  if (object == nullptr) return problem(400, "body: expected a JSON object");
  BenchmarkRequest request;
  request.max_attempts = rules.tasks.default_max_attempts;
  const std::span<const Field<BenchmarkRequest>> fields(benchmark_fields);
  if (const auto complaint = read_fields(*object, fields, rules, nowhere_else, request)) {
    return problem(400, *complaint);
  }
  if (auto refusal = refuse_without_provider(request.provider, rules)) return std::move(*refusal);
  return request;
}

}  // namespace server
