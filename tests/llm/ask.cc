// Asks a provider once and prints the outcome as one line of JSON.
//
//   ask REQUEST     {"prompt": "...", "system": "...", "model": "...", "stream": true, "schema":
//   {...},
//                    "tools": [{"name", "description", "parameters"}], "tool_results": {"tool":
//                    "text"}, "temperature": 0, "deadline_ms": 5000, "cancel_after_ms": 100,
//                    "models": true}
//
// The provider comes from the environment, as the server's does.
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/steady_timer.hpp>
#include <chrono>
#include <cstdio>
#include <exception>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "runtime/config/config.h"
#include "runtime/json/reader.h"
#include "runtime/json/writer.h"
#include "runtime/llm/answer_json.h"
#include "runtime/llm/providers.h"
#include "runtime/llm/schema.h"
#include "runtime/llm/wire_json.h"

namespace {

namespace asio = boost::asio;
namespace json = runtime::json;
namespace llm = runtime::llm;
using std::chrono::milliseconds;

// The answers of tools, by their names; the conversation then goes on.
struct Question {
  llm::ChatRequest request;
  llm::CallOptions options;
  json::Object tool_results;
  std::optional<milliseconds> cancel_after;
  bool models = false;  // the names of models are wanted, not an answer
  std::string streamed;
  std::int64_t pieces = 0;
};

bool is_true(const json::Value* value) {
  return value != nullptr && value->as_bool() != nullptr && *value->as_bool();
}

void add_message(llm::ChatRequest& request, llm::Speaker speaker, std::string text) {
  llm::Message message;
  message.speaker = speaker;
  message.text = std::move(text);
  request.messages.push_back(std::move(message));
}

std::shared_ptr<Question> read_question(const json::Value& root) {
  auto made = std::make_shared<Question>();
  Question& question = *made;
  llm::ChatRequest& request = question.request;
  request.model = llm::text_member(&root, "model");
  if (std::string system = llm::text_member(&root, "system"); !system.empty()) {
    add_message(request, llm::Speaker::system, std::move(system));
  }
  add_message(request, llm::Speaker::user, llm::text_member(&root, "prompt"));
  if (const json::Value* schema = llm::member(root, "schema")) {
    request.schema = {.name = "answer", .schema = llm::text_of(*schema)};
  }
  for (const json::Value& tool : llm::items_of(llm::member(root, "tools"))) {
    request.tools.push_back({.name = llm::text_member(&tool, "name"),
                             .description = llm::text_member(&tool, "description"),
                             .parameters = llm::text_of(*llm::member(tool, "parameters"))});
  }
  if (const json::Value* results = llm::member(root, "tool_results")) {
    question.tool_results = *results->as_object();
  }
  if (const json::Value* temperature = llm::member(root, "temperature")) {
    const double* number = temperature->as_double();
    request.temperature =
        number != nullptr ? *number : static_cast<double>(*temperature->as_integer());
  }
  if (const auto deadline = llm::count_member(&root, "deadline_ms"); deadline > 0) {
    question.options.deadline = milliseconds(deadline);
  }
  if (const auto cancel = llm::count_member(&root, "cancel_after_ms"); cancel > 0) {
    question.cancel_after = milliseconds(cancel);
  }
  question.models = is_true(llm::member(root, "models"));
  if (is_true(llm::member(root, "stream"))) {
    question.options.on_text = [&question](std::string_view text) {
      question.streamed += text;
      ++question.pieces;
    };
  }
  return made;
}

std::string_view fault_name(llm::Fault fault) {
  constexpr std::string_view names[] = {"bad_request", "unauthorized", "not_found", "rate_limited",
                                        "unavailable", "interrupted",  "malformed", "timed_out",
                                        "cancelled",   "exhausted"};
  return names[static_cast<std::size_t>(fault)];
}

std::string_view finish_name(llm::Finish finish) {
  constexpr std::string_view names[] = {"stop", "length", "tool_calls", "refused"};
  return names[static_cast<std::size_t>(finish)];
}

void write_failure(json::Writer& writer, const llm::Failure& failure) {
  writer.key("fault").string(fault_name(failure.fault)).key("status").integer(failure.status);
  writer.key("provider").string(failure.provider).key("message").string(failure.message);
  writer.key("tries").integer(failure.tries).key("retry_after_ms");
  failure.retry_after ? writer.integer(failure.retry_after->count()) : writer.null();
}

void write_response(json::Writer& writer, const llm::ChatResponse& response) {
  writer.key("text").string(response.text).key("finish").string(finish_name(response.finish));
  writer.key("model").string(response.model).key("tries").integer(response.tries);
  writer.key("latency_ms").integer(response.latency.count());
  writer.key("input_tokens").integer(static_cast<std::int64_t>(response.usage.input_tokens));
  writer.key("output_tokens").integer(static_cast<std::int64_t>(response.usage.output_tokens));
  writer.key("tool_calls").begin_array();
  for (const llm::ToolCall& call : response.tool_calls) {
    writer.begin_object().key("id").string(call.id).key("name").string(call.name);
    writer.key("arguments").json(call.arguments).end_object();
  }
  writer.end_array();
}

// Returns "" where the answer satisfies its schema, or what is wrong with it.
std::string schema_verdict(const llm::ChatResponse& response, const llm::AnswerSchema& wanted) {
  const auto value = llm::answer_json(response.text);
  if (!value) return value.error().doing;
  const auto schema = json::parse(wanted.schema, "schema");
  if (!schema) return schema.error().doing;
  const auto fits = llm::check_schema(*value, *schema, "answer");
  return fits ? std::string() : fits.error().doing;
}

// Continues the conversation with the tools' results.
void add_results(Question& question, const llm::ChatResponse& response) {
  llm::Message called;
  called.speaker = llm::Speaker::assistant;
  called.text = response.text;
  called.tool_calls = response.tool_calls;
  question.request.messages.push_back(std::move(called));
  for (const llm::ToolCall& call : response.tool_calls) {
    llm::Message result;
    result.speaker = llm::Speaker::tool;
    result.tool_call_id = call.id;
    result.tool_name = call.name;
    const auto found = question.tool_results.find(call.name);
    if (found != question.tool_results.end()) result.text = *found->second.as_string();
    question.request.messages.push_back(std::move(result));
  }
}

void write_answer(const Question& question, const llm::Outcome<llm::ChatResponse>& outcome,
                  json::Writer& writer) {
  writer.key("streamed").string(question.streamed).key("pieces").integer(question.pieces);
  if (!outcome) return write_failure(writer, outcome.failure());
  write_response(writer, *outcome);
  if (!question.request.schema) return;
  writer.key("schema_error").string(schema_verdict(*outcome, *question.request.schema));
}

void write_models(const llm::Outcome<std::vector<std::string>>& models, json::Writer& writer) {
  if (!models) return write_failure(writer, models.failure());
  writer.key("models").begin_array();
  for (const std::string& name : *models) writer.string(name);
  writer.end_array();
}

asio::awaitable<void> list(llm::Provider& provider, std::shared_ptr<Question> question,
                           json::Writer& writer) {
  const auto models = co_await provider.list_models(question->options);
  write_models(models, writer);
}

asio::awaitable<void> ask(llm::Provider& provider, std::shared_ptr<Question> question,
                          json::Writer& writer) {
  auto outcome = co_await provider.complete(question->request, question->options);
  if (outcome && !outcome->tool_calls.empty() && !question->tool_results.empty()) {
    add_results(*question, *outcome);
    outcome = co_await provider.complete(question->request, question->options);
  }
  write_answer(*question, outcome, writer);
}

int fail(const std::string& text) {
  std::fprintf(stderr, "ask: %s\n", text.c_str());
  return 2;
}

}  // namespace

int main(int argc, char** argv) {
  const auto root = json::parse(argc == 2 ? argv[1] : "", "REQUEST");
  if (!root) return fail(root.error().message());
  runtime::ConfigSources sources;
  sources.environment = runtime::process_environment();
  const auto config = runtime::load_config(sources);
  if (!config) return fail(config.error().message());
  llm::HttpClient client;
  const auto providers = llm::make_providers(*config, client);
  if (!providers) return fail(providers.error().message());
  if (providers->empty()) return fail(llm::why_no_provider(*config));

  const auto question = read_question(*root);
  asio::io_context context;
  asio::steady_timer timer(context);
  if (question->cancel_after) {
    timer.expires_after(*question->cancel_after);
    timer.async_wait([question](const boost::system::error_code& error) {
      if (!error) question->options.cancel.request();
    });
  }
  json::Writer writer;
  writer.begin_object();
  const auto started = std::chrono::steady_clock::now();
  const auto work = question->models ? list : ask;
  asio::co_spawn(context, work(*providers->front(), question, writer),
                 [&](const std::exception_ptr& error) {
                   timer.cancel();
                   if (error) std::rethrow_exception(error);
                 });
  context.run();
  const auto took = std::chrono::steady_clock::now() - started;
  writer.key("took_ms").integer(std::chrono::duration_cast<milliseconds>(took).count());
  writer.end_object();
  std::printf("%s\n", std::move(writer).take().c_str());
  return 0;
}
