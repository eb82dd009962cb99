#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "runtime/json/reader.h"
#include "server/api/decode.h"

namespace server {
namespace {

using namespace std::chrono_literals;
using runtime::RunRequest;
using ::testing::HasSubstr;

const runtime::RequestRules rules = {.default_timeout = 5s,
                                     .default_memory_limit_mb = 256,
                                     .ceilings = {.timeout = 60s, .memory_limit_mb = 2048},
                                     .why_no_language = {},
                                     .templates = runtime::shipped_templates(),
                                     .why_no_task = "task: no provider"};

RunRequest must_decode(std::string_view body) {
  auto decoded = decode_execute(body, rules);
  if (auto* refusal = std::get_if<Response>(&decoded)) {
    ADD_FAILURE() << body.substr(0, 200) << ": " << refusal->body;
    return {};
  }
  return std::move(std::get<RunRequest>(decoded));
}

struct Refused {
  int status = 0;
  std::string detail;
};

Refused refused(std::string_view body) {
  const auto decoded = decode_execute(body, rules);
  const auto* response = std::get_if<Response>(&decoded);
  if (response == nullptr) return {.status = 200, .detail = "accepted"};
  const auto value = runtime::json::parse(response->body, "problem");
  return {response->status, *value->as_object()->at("detail").as_string()};
}

std::string with(std::string_view fields) {
  return R"({"code": "x", )" + std::string(fields) + "}";
}

std::string repeated(std::string_view item, int count) {
  std::string text;
  for (int i = 0; i < count; ++i) text += (i == 0 ? "" : ",") + std::string(item);
  return text;
}

TEST(DecodeExecute, DefaultsAreTheOperators) {
  const RunRequest request = must_decode(R"({"code": "exit"})");
  EXPECT_EQ(request.code, "exit");
  EXPECT_EQ(request.language, runtime::Language::python);
  EXPECT_EQ(request.standard_input, "");
  EXPECT_TRUE(request.args.empty());
  EXPECT_TRUE(request.env.empty());
  EXPECT_EQ(request.timeout, 5s);
  EXPECT_EQ(request.memory_limit_mb, 256u);
  EXPECT_EQ(request.output_encoding, runtime::OutputEncoding::utf8);
}

TEST(DecodeExecute, ReadsEveryField) {
  const RunRequest request = must_decode(R"({
    "code": "a\u0000b", "language": "bash", "stdin": "\u0000\n", "args": ["", "-x", "ä"],
    "env": {"A": "", "B C": "d=e"}, "timeout_seconds": 0.05,
    "files": {"b": {"base64": "AP8="}, "a/\u00e4": "text"}, "artifacts": ["*.png", "out/**"],
    "memory_limit_mb": 2048, "template": "none", "output_encoding": "base64", "network": "none"})");
  EXPECT_EQ(request.code, std::string("a\0b", 3));
  EXPECT_EQ(request.language, runtime::Language::bash);
  EXPECT_EQ(request.standard_input, std::string("\0\n", 2));
  EXPECT_EQ(request.args, (std::vector<std::string>{"", "-x", "ä"}));
  const std::vector<std::pair<std::string, std::string>> env = {{"A", ""}, {"B C", "d=e"}};
  EXPECT_EQ(request.env, env);
  ASSERT_EQ(request.files.size(), 2u);
  EXPECT_EQ(request.files[0].path, "a/ä");
  EXPECT_EQ(request.files[0].content, "text");
  EXPECT_EQ(request.files[1].content, std::string("\0\xFF", 2));
  EXPECT_EQ(request.artifacts, (std::vector<std::string>{"*.png", "out/**"}));
  EXPECT_EQ(request.timeout, 50ms);
  EXPECT_EQ(request.memory_limit_mb, 2048u);
  EXPECT_EQ(request.output_encoding, runtime::OutputEncoding::base64);
}

TEST(DecodeExecute, TakesTheBoundsThemselves) {
  EXPECT_EQ(must_decode(with(R"("timeout_seconds": 60)")).timeout, 60s);
  EXPECT_EQ(must_decode(with(R"("timeout_seconds": 6e1)")).timeout, 60s);
  EXPECT_EQ(must_decode(with(R"("timeout_seconds": 1.2345)")).timeout, 1235ms);
  EXPECT_EQ(must_decode(with(R"("memory_limit_mb": 32)")).memory_limit_mb, 32u);
  EXPECT_EQ(must_decode("{\"code\": \"" + std::string(1u << 20, 'x') + "\"}").code.size(),
            1u << 20);
  EXPECT_EQ(must_decode(with("\"args\": [" + repeated("\"\"", 256) + "]")).args.size(), 256u);
}

// Each bad body, and texts that its problem must contain: the field's name and the allowed values.
TEST(DecodeExecute, RefusesWithTheFieldsNameAndWhatIsAllowed) {
  const std::pair<std::string, std::vector<const char*>> cases[] = {
      {"", {"body", "empty"}},
      {"nonsense", {"body", "not valid JSON"}},
      {"{\"code\": \"x\"} x", {"body", "not valid JSON"}},
      {"{\"code\": \"x\"}{}", {"body", "not valid JSON"}},
      {R"({"code": "x", "stdin": "\ud800"})", {"lone surrogate"}},
      {R"({"code": "x", "files": {"a": [1, }})", {"not valid JSON"}},
      {R"({"code": "x", "code": "y"})", {"duplicate key \"code\""}},
      {R"({"code": "x", "env": {"A": "1", "A": "2"}})", {"body.env", "duplicate key \"A\""}},
      {"{\"code\": \"\xFF\"}", {"UTF-8"}},
      {"[]", {"body", "JSON object"}},
      {"\"x\"", {"body", "JSON object"}},
      {"null", {"body", "JSON object"}},
      {"{}", {"exactly one of code and task"}},
      {R"({"cod": "x"})", {"\"cod\"", "unknown field (did you mean code?)", "swarm"}},
      {R"({"tsak": "x"})", {"\"tsak\"", "did you mean task?"}},
      {R"({"code": "x", "task": "y"})", {"exactly one of code and task"}},
      {R"({"code": ""})", {"code", "1 .. 1048576"}},
      {"{\"code\": \"" + std::string((1u << 20) + 1, 'x') + "\"}", {"code", "1 .. 1048576"}},
      {R"({"code": 1})", {"code", "string"}},
      {R"({"code": null})", {"code", "string"}},
      {with(R"("Code": "x")"), {"\"Code\"", "unknown field", "code, language"}},
      {with(R"("max_attempts": 2)"), {"\"max_attempts\"", "only a request with task"}},
      {with(R"("": 1)"), {"unknown field"}},
      {with(R"("language": "ruby")"), {"language", "python, bash, javascript or typescript"}},
      {with(R"("language": "Python")"), {"language", "python, bash, javascript or typescript"}},
      {with(R"("language": null)"), {"language", "python, bash, javascript or typescript"}},
      {with(R"("stdin": 5)"), {"stdin", "string"}},
      {with(R"("args": "x")"), {"args", "256 strings"}},
      {with(R"("args": [1])"), {"args", "256 strings"}},
      {with(R"("args": ["a\u0000"])"), {"args", "NUL"}},
      {with("\"args\": [" + repeated("\"\"", 257) + "]"), {"args", "256 strings"}},
      {with("\"args\": [\"" + std::string(128u << 10, 'x') + "\"]"), {"args", "131072 bytes"}},
      {with("\"env\": {\"A\": \"" + std::string(128u << 10, 'x') + "\"}"), {"env", "131072 bytes"}},
      {with(R"("env": [])"), {"env", "map"}},
      {with(R"("env": {"A": 1})"), {"env", "strings"}},
      {with(R"("env": {"": "x"})"), {"env", "not empty"}},
      {with(R"("env": {"A=B": "x"})"), {"env", "without ="}},
      {with(R"("env": {"A\u0000": "x"})"), {"env", "NUL"}},
      {with(R"("env": {"A": "\u0000"})"), {"env", "NUL"}},
      {with(R"("timeout_seconds": 0)"), {"timeout_seconds", "0.05 .. 60"}},
      {with(R"("timeout_seconds": 0.049)"), {"timeout_seconds", "0.05 .. 60"}},
      {with(R"("timeout_seconds": -1)"), {"timeout_seconds", "0.05 .. 60"}},
      {with(R"("timeout_seconds": 60.0001)"), {"timeout_seconds", "0.05 .. 60"}},
      {with(R"("timeout_seconds": 1e9)"), {"timeout_seconds", "0.05 .. 60"}},
      {with(R"("timeout_seconds": 18446744073709551615)"), {"timeout_seconds", "0.05 .. 60"}},
      {with(R"("timeout_seconds": "5")"), {"timeout_seconds", "0.05 .. 60"}},
      {with(R"("timeout_seconds": true)"), {"timeout_seconds", "0.05 .. 60"}},
      {with(R"("timeout_seconds": NaN)"), {"not valid JSON"}},
      {with(R"("timeout_seconds": 1e999)"), {"timeout_seconds", "0.05 .. 60"}},
      {with(R"("memory_limit_mb": "lots")"), {"memory_limit_mb", "integer 32 .. 2048"}},
      {with(R"("memory_limit_mb": 32.5)"), {"memory_limit_mb", "integer 32 .. 2048"}},
      {with(R"("memory_limit_mb": 31)"), {"memory_limit_mb", "integer 32 .. 2048"}},
      {with(R"("memory_limit_mb": 2049)"), {"memory_limit_mb", "integer 32 .. 2048"}},
      {with(R"("memory_limit_mb": -9223372036854775808)"), {"memory_limit_mb", "32 .. 2048"}},
      {with(R"("memory_limit_mb": 9223372036854775808)"), {"memory_limit_mb", "32 .. 2048"}},
      {with(R"("output_encoding": "latin-1")"), {"output_encoding", "utf-8 or base64"}},
      {with(R"("files": {"a": 1})"), {"files", "\"a\"", "base64"}},
      {with(R"("files": {"a": {"base64": "Zg"}})"), {"files", "\"a\"", "RFC 4648"}},
      {with(R"("files": {"a": {"hex": "00"}})"), {"files", "\"a\"", "base64"}},
      {with(R"("files": {"../a": ""})"), {"files", "\"../a\"", "without empty components"}},
      {R"({"files": {"main.sh": ""}, "code": "x", "language": "bash"})", {"files", "the program"}},
      {with(R"("files": [])"), {"files", "map"}},
      {with(R"("artifacts": ["*", 1])"), {"artifacts", "globs"}},
      {with(R"("artifacts": ["/tmp/*"])"), {"artifacts", "\"/tmp/*\"", "relative"}},
      {with(R"("artifacts": "*")"), {"artifacts", "list"}},
      {with(R"("template": "pandas")"), {"template: expected one of none, bash, data, javascr"}},
      {with(R"("template": "")"), {"template: expected one of none"}},
      {with(R"("template": 1)"), {"template: expected one of none"}},
      {with(R"("template": "bash")"),
       {"template: bash runs bash; for python expected one of none, data, python"}},
      {with(R"("language": "bash", "template": "data")"),
       {"template: data runs python; for bash expected one of none, bash"}},
      {with(R"("network": {"allow": []})"), {"network", "none", "allow"}},
      {with(R"("network": {"allow": ["pypi.org:443"]})"),
       {"network", "this server gives programs no network"}},
      {with(R"("network": "host")"), {"network", "none"}},
      {with(R"("swarm": true)"), {"\"swarm\"", "only a request with task has it"}},
  };
  for (const auto& [body, words] : cases) {
    const Refused problem = refused(body);
    EXPECT_EQ(problem.status, 400) << body.substr(0, 200);
    for (const char* word : words) {
      EXPECT_THAT(problem.detail, HasSubstr(word)) << body.substr(0, 200);
    }
  }
}

TEST(DecodeExecute, EveryLanguageHasItsName) {
  EXPECT_EQ(must_decode(with(R"("language": "bash")")).language, runtime::Language::bash);
  EXPECT_EQ(must_decode(with(R"("language": "javascript")")).language,
            runtime::Language::javascript);
  EXPECT_EQ(must_decode(with(R"("language": "typescript")")).language,
            runtime::Language::typescript);
}

TEST(DecodeExecute, ATemplateIsKeptByItsName) {
  EXPECT_EQ(must_decode(R"({"code": "x"})").template_name, "");
  EXPECT_EQ(must_decode(with(R"("template": "none")")).template_name, "none");
  EXPECT_EQ(must_decode(with(R"("template": "data")")).template_name, "data");
  EXPECT_EQ(must_decode(with(R"("template": "bash", "language": "bash")")).template_name, "bash");
}

TEST(DecodeExecute, ATemplateWithARootOfItsOwnNeedsNoLanguageOfTheServers) {
  runtime::RequestRules without = rules;
  without.why_no_language = {{runtime::Language::bash, "no bash"}};
  without.templates.front().rootfs = "/srv/root";
  ASSERT_EQ(without.templates.front().name, "bash");
  const auto is_taken = [&](std::string_view fields) {
    return std::holds_alternative<RunRequest>(decode_execute(with(fields), without));
  };
  EXPECT_TRUE(is_taken(R"("language": "bash", "template": "bash")"));
  EXPECT_TRUE(is_taken(R"("language": "bash")"));
  EXPECT_FALSE(is_taken(R"("language": "bash", "template": "none")"));
}

TEST(DecodeExecute, ALanguageThatTheRootLacksIsRefusedWithTheReason) {
  runtime::RequestRules without = rules;
  without.why_no_language = {{runtime::Language::javascript, "no node"}};
  const auto decoded = decode_execute(with(R"("language": "javascript")"), without);
  const auto* response = std::get_if<Response>(&decoded);
  ASSERT_NE(response, nullptr);
  EXPECT_EQ(response->status, 400);
  EXPECT_THAT(response->body, HasSubstr("language: no node"));
  const auto python = decode_execute(R"({"code": "x"})", without);
  EXPECT_TRUE(std::holds_alternative<RunRequest>(python));
}

TEST(DecodeExecute, DepthIsBoundedInFieldsThatAreNotUsedToo) {
  const std::string deep = std::string(40, '[') + std::string(40, ']');
  EXPECT_THAT(refused(with("\"files\": " + deep)).detail, HasSubstr("nested deeper than 32"));
}

}  // namespace
}  // namespace server
