#include "runtime/llm/replay_provider.h"

#include <algorithm>
#include <utility>

#include "runtime/config/text_file.h"
#include "runtime/json/reader.h"
#include "runtime/json/writer.h"
#include "runtime/llm/wire_json.h"

namespace runtime::llm {
namespace {

namespace asio = boost::asio;

constexpr std::size_t max_cassette_bytes = 256u << 20;
// The role whose answers are the solutions; no schema needs to have its name.
constexpr std::string_view solving_role = "coder";
// Recordings of programs have no critiques, and their next program does not need any.
constexpr std::string_view critic_role = "critic";
constexpr std::string_view no_critique =
    R"({"diagnosis": "The cassette has no critique.", "fix": "Try the next program.",)"
    R"( "should_retry": true, "confidence": 0})";

bool is_space(char c) { return c == ' ' || (c >= '\t' && c <= '\r'); }

// Prompts indent, wrap and trim the texts that they quote.
std::string with_single_spaces(std::string_view text) {
  std::string result;
  for (const char c : text) {
    if (!is_space(c)) {
      result += c;
    } else if (!result.empty() && result.back() != ' ') {
      result += ' ';
    }
  }
  if (result.ends_with(' ')) result.pop_back();
  return result;
}

bool is_word_byte(char c) {
  return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_' ||
         static_cast<unsigned char>(c) >= 0x80;
}

// The position of `task` in `prompt` where it is not a part of longer words; npos: it does not
// occur.
std::size_t place_of(std::string_view task, std::string_view prompt) {
  for (std::size_t at = prompt.find(task); at != prompt.npos; at = prompt.find(task, at + 1)) {
    const std::size_t end = at + task.size();
    const bool begins = at == 0 || !is_word_byte(task.front()) || !is_word_byte(prompt[at - 1]);
    const bool ends =
        end == prompt.size() || !is_word_byte(task.back()) || !is_word_byte(prompt[end]);
    if (begins && ends) return at;
  }
  return prompt.npos;
}

// The texts of a list of answers; std::nullopt where `list` is not one.
std::optional<std::vector<std::string>> answers_of(const json::Value* list) {
  if (list == nullptr || list->as_array() == nullptr) return std::nullopt;
  std::vector<std::string> answers;
  for (const json::Value& item : *list->as_array()) {
    if (item.as_string() == nullptr && item.as_object() == nullptr) return std::nullopt;
    answers.push_back(item.as_string() != nullptr ? *item.as_string() : text_of(item));
  }
  return answers;
}

void write_empty(json::Writer& writer, const json::Value& schema) {
  const std::string type = text_member(&schema, "type");
  if (type == "array") {
    writer.begin_array().end_array();
  } else if (type == "object") {
    writer.begin_object().end_object();
  } else if (type == "boolean") {
    writer.boolean(false);
  } else if (type == "number" || type == "integer") {
    writer.integer(0);
  } else {
    writer.string("");
  }
}

// Cassettes hold programs; where an object that contains a program is wanted, the program is put
// into one.
std::string as_wanted(const std::string& answer, const std::optional<AnswerSchema>& wanted) {
  if (!wanted) return answer;
  const auto schema = json::parse(wanted->schema, "schema");
  const json::Value* properties = schema ? member(*schema, "properties") : nullptr;
  if (member(properties, "code") == nullptr) return answer;
  const auto value = json::parse(answer, "answer");
  if (value && value->as_object() != nullptr) return answer;
  json::Writer writer;
  writer.begin_object();
  for (const auto& [key, property] : *properties->as_object()) {
    writer.key(key);
    if (key == "code") {
      writer.string(answer);
    } else {
      write_empty(writer, property);
    }
  }
  writer.end_object();
  return std::move(writer).take();
}

// Delivers the text in pieces, as a model would.
void say(std::string_view text, const OnText& on_text) {
  constexpr std::size_t longest_piece = 64;
  while (!text.empty()) {
    const std::string_view piece = json::utf8_prefix(text, longest_piece);
    on_text(piece);
    text.remove_prefix(piece.size());
  }
}

}  // namespace

jail::Result<std::unique_ptr<ReplayProvider>> ReplayProvider::open(const std::string& path) {
  const auto text = read_text_file(path, max_cassette_bytes);
  if (!text) return text.error();
  return parse(*text, path);
}

jail::Result<std::unique_ptr<ReplayProvider>> ReplayProvider::parse(std::string_view text,
                                                                    std::string_view name) {
  std::vector<Record> records;
  for (std::size_t number = 1; !text.empty(); ++number) {
    const std::size_t end = std::min(text.find('\n'), text.size());
    const std::string_view line = text.substr(0, end);
    text.remove_prefix(std::min(end + 1, text.size()));
    if (std::all_of(line.begin(), line.end(), is_space)) continue;
    auto record = read_record(line, std::string(name) + ", line " + std::to_string(number));
    if (!record) return record.error();
    records.push_back(std::move(*record));
  }
  if (records.empty())
    return jail::invalid(std::string(name) + ": there is no record in this cassette");
  return std::unique_ptr<ReplayProvider>(new ReplayProvider(std::move(records)));
}

jail::Result<ReplayProvider::Record> ReplayProvider::read_record(std::string_view line,
                                                                 const std::string& place) {
  const auto value = json::parse(line, place);
  if (!value) return value.error();
  Record record;
  record.shown_task = text_member(&*value, "task");
  record.task = with_single_spaces(record.shown_task);
  record.model = text_member(&*value, "model");
  if (record.task.empty()) return jail::invalid(place + ": \"task\" must be a text");
  auto answers = answers_of(member(*value, "answers"));
  if (!answers) return jail::invalid(place + ": \"answers\" must be a list of texts or objects");
  record.answers[""] = std::move(*answers);
  const json::Value* roles = member(*value, "roles");
  if (roles == nullptr) return record;
  if (roles->as_object() == nullptr) return jail::invalid(place + ": \"roles\" must be an object");
  for (const auto& [role, list] : *roles->as_object()) {
    auto lines = answers_of(&list);
    if (!lines) return jail::invalid(place + ": \"roles\" must have lists of texts or objects");
    record.answers[role] = std::move(*lines);
  }
  return record;
}

// One task may begin like another: the longest match at the first place is taken.
std::vector<const ReplayProvider::Record*> ReplayProvider::records_in(
    const std::string& text) const {
  std::vector<const Record*> found;
  std::size_t first = text.npos;
  for (const Record& record : records_) {
    const std::size_t at = place_of(record.task, text);
    if (at == text.npos || at > first) continue;
    const bool closer = at < first || record.task.size() > found.front()->task.size();
    if (closer) found.clear();
    if (closer || record.task == found.front()->task) found.push_back(&record);
    first = at;
  }
  return found;
}

// A prompt also quotes lessons from other tasks. Where nobody says which task it is about, it is
// the one that comes first in the user's text.
std::vector<const ReplayProvider::Record*> ReplayProvider::records_for(
    const ChatRequest& request, const std::string& task) const {
  if (!task.empty()) return records_in(with_single_spaces(task));
  std::string prompt;
  std::string behind;  // the other messages are searched where the user names no task
  for (const Message& message : request.messages) {
    (message.speaker == Speaker::user ? prompt : behind) += message.text + '\n';
  }
  auto found = records_in(with_single_spaces(prompt));
  return found.empty() ? records_in(with_single_spaces(behind)) : found;
}

// The failure goes to a caller, who may be anybody: it names the setting and no path of this host.
Failure ReplayProvider::exhausted(std::string text) {
  Failure failure;
  failure.fault = Fault::exhausted;
  failure.provider = std::string(provider_name);
  failure.message = "replay: " + std::move(text) + " (see REPLAY_CASSETTE)";
  return failure;
}

Outcome<ChatResponse> ReplayProvider::play(const ChatRequest& request,
                                           const CallOptions& options) const {
  const std::size_t number = options.asked_before;
  std::string role = request.schema ? request.schema->name : std::string();
  if (role == solving_role) role.clear();
  const std::vector<const Record*> records = records_for(request, options.task);
  if (records.empty()) return exhausted("the cassette has no task that this prompt is about");
  std::size_t passed = 0;
  bool is_recorded = false;
  for (const Record* record : records) {
    const auto found = record->answers.find(role);
    if (found == record->answers.end()) continue;
    is_recorded = true;
    const Answers& answers = found->second;
    if (number - passed >= answers.size()) {
      passed += answers.size();
      continue;
    }
    ChatResponse response;
    response.text = as_wanted(answers[number - passed], request.schema);
    response.model = record->model.empty() ? model_ : record->model;
    return response;
  }
  if (role == critic_role && !is_recorded) {
    ChatResponse response;
    response.text = no_critique;
    response.model = model_;
    return response;
  }
  const std::string who = role.empty() ? "" : " of the role " + json::quoted(role);
  const std::string task = json::quoted(records.front()->shown_task);
  if (passed == 0) return exhausted("the cassette has no answers" + who + " for " + task);
  return exhausted("the cassette's " + std::to_string(passed) + " answers" + who + " for " + task +
                   " are all played");
}

asio::awaitable<Outcome<ChatResponse>> ReplayProvider::complete(ChatRequest request,
                                                                CallOptions options) {
  const auto started = std::chrono::steady_clock::now();
  if (options.cancel.requested()) {
    Failure failure;
    failure.fault = Fault::cancelled;
    failure.provider = std::string(provider_name);
    failure.message = "replay: cancelled";
    co_return failure;
  }
  Outcome<ChatResponse> outcome = play(request, options);
  if (outcome) {
    if (options.on_text) say(outcome->text, options.on_text);
    outcome->latency = std::chrono::duration_cast<std::chrono::milliseconds>(
        std::chrono::steady_clock::now() - started);
  }
  co_return outcome;
}

asio::awaitable<Outcome<std::vector<std::string>>> ReplayProvider::list_models(CallOptions) {
  std::vector<std::string> names{model_};
  co_return names;
}

asio::awaitable<Outcome<std::chrono::milliseconds>> ReplayProvider::health(CallOptions) {
  co_return std::chrono::milliseconds(0);
}

}  // namespace runtime::llm
