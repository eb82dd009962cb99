#include "runtime/llm/http_provider.h"

#include <algorithm>
#include <boost/asio/as_tuple.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/asio/this_coro.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <utility>

#include "runtime/config/config.h"
#include "runtime/json/reader.h"
#include "runtime/json/writer.h"
#include "runtime/llm/backoff.h"

namespace runtime::llm {
namespace {

namespace asio = boost::asio;
using std::chrono::milliseconds;

// No provider answers in less time than this, so that a try would only hide the reason of the last
// failure.
constexpr milliseconds shortest_try{100};
constexpr milliseconds longest_deadline{24 * 3'600'000};
constexpr std::size_t max_refusing_models = 1'000;

bool is_object(const std::string& text) {
  const auto value = json::parse(text, "it");
  return value && value->as_object() != nullptr;
}

// Returns what would make the request's text invalid JSON, or lead its URL elsewhere.
std::optional<std::string> obstacle_in(const ChatRequest& request) {
  if (!request.model.empty() && !is_model_name(request.model)) {
    return json::quoted(request.model) + " is no name of a model";
  }
  if (request.schema && !is_object(request.schema->schema)) {
    return "the schema " + json::quoted(request.schema->name) + " is no JSON object";
  }
  for (const Tool& tool : request.tools) {
    if (!is_object(tool.parameters)) {
      return "the parameters of the tool " + json::quoted(tool.name) + " are no JSON object";
    }
  }
  for (const Message& message : request.messages) {
    for (const ToolCall& call : message.tool_calls) {
      if (is_object(call.arguments)) continue;
      return "the arguments of the call " + json::quoted(call.id) + " are no JSON object";
    }
  }
  return std::nullopt;
}

// Returns whether the wait came to its end. A cancellation is polled: a listener would have to
// reach a timer from another thread, while its executor may be about to go.
asio::awaitable<bool> wait_out(milliseconds wait, Cancel cancel) {
  constexpr milliseconds look_again{20};
  const auto end = std::chrono::steady_clock::now() + wait;
  asio::steady_timer timer(co_await asio::this_coro::executor);
  while (!cancel.requested()) {
    const auto now = std::chrono::steady_clock::now();
    if (now >= end) co_return true;
    timer.expires_at(std::min(end, now + look_again));
    const auto [error] = co_await timer.async_wait(asio::as_tuple(asio::use_awaitable));
    if (error) co_return false;
  }
  co_return false;
}

// The provider's explicit word has precedence over its status.
std::optional<bool> should_retry(const HttpReply& reply) {
  const std::string* word = reply.header("x-should-retry");
  if (word != nullptr && *word == "true") return true;
  if (word != nullptr && *word == "false") return false;
  return std::nullopt;
}

std::string request_id_of(const HttpReply& reply) {
  for (const char* name : {"x-request-id", "request-id"}) {
    if (const std::string* id = reply.header(name)) return *id;
  }
  return {};
}

bool is_success(int status) { return status >= 200 && status < 300; }

HttpFault cancelled_fault() {
  return {.kind = HttpFault::cancelled, .text = "cancelled", .status = 0, .body_began = false};
}

}  // namespace

HttpProvider::HttpProvider(Endpoint endpoint, std::unique_ptr<const WireFormat> format,
                           HttpClient& client)
    : endpoint_(std::move(endpoint)),
      format_(std::move(format)),
      client_(client),
      random_(std::random_device()()) {}

asio::awaitable<Outcome<ChatResponse>> HttpProvider::complete(ChatRequest request,
                                                              CallOptions options) {
  if (request.model.empty()) request.model = endpoint_.model;
  auto chat = std::make_shared<const Chat>(Chat{std::move(request), std::move(options.on_text)});
  return converse(std::move(chat), std::move(options));
}

asio::awaitable<Outcome<ChatResponse>> HttpProvider::converse(std::shared_ptr<const Chat> chat,
                                                              CallOptions options) {
  Call call = begin(options, chat->request.model);
  if (const auto obstacle = obstacle_in(chat->request)) {
    Failure failure;
    failure.fault = Fault::bad_request;
    failure.provider = endpoint_.provider;
    failure.message = endpoint_.provider + ": " + foreign_text(*obstacle, endpoint_.api_key);
    co_return failure;
  }
  Try<ChatResponse> attempt = [this, chat](Call now) { return try_chat(chat, std::move(now)); };
  co_return co_await repeat<ChatResponse>(std::move(call), std::move(attempt));
}

asio::awaitable<Outcome<std::vector<std::string>>> HttpProvider::list_models(CallOptions options) {
  Call call = begin(options, {});
  Try<std::vector<std::string>> attempt = [this](Call now) { return try_models(std::move(now)); };
  co_return co_await repeat<std::vector<std::string>>(std::move(call), std::move(attempt));
}

asio::awaitable<Outcome<milliseconds>> HttpProvider::health(CallOptions options) {
  const auto started = Clock::now();
  const auto models = co_await list_models(std::move(options));
  if (!models) co_return models.failure();
  co_return std::chrono::duration_cast<milliseconds>(Clock::now() - started);
}

HttpProvider::Call HttpProvider::begin(const CallOptions& options, std::string model) const {
  Call call;
  call.story.model = std::move(model);
  call.story.tries = 0;
  call.story.deadline = std::clamp(options.deadline, milliseconds(0), longest_deadline);
  call.started = Clock::now();
  call.deadline = call.started + call.story.deadline;
  call.cancel = options.cancel;
  return call;
}

template <class Value>
asio::awaitable<Outcome<Value>> HttpProvider::repeat(Call call, Try<Value> attempt) {
  const RetryRules rules = format_->retry_rules();
  std::optional<Failure> before;
  for (;;) {
    ++call.story.tries;
    Attempt<Value> tried = co_await attempt(call);
    if (auto* value = std::get_if<Value>(&tried)) co_return std::move(*value);
    FailedAttempt& last = std::get<FailedAttempt>(tried);
    if (last.failure.fault == Fault::timed_out && before) {
      last.failure.message += "; the try before it: " + before->message;
    }
    if (last.then == FailedAttempt::Then::give_up || call.story.tries >= rules.tries) {
      co_return std::move(last.failure);
    }
    const auto wait = wait_before(call.story.tries - 1, chance(), last.asked, rules.backoff);
    if (!wait || Clock::now() + *wait + shortest_try > call.deadline) {
      co_return std::move(last.failure);
    }
    if (!co_await wait_out(*wait, call.cancel)) {
      co_return failure_of(endpoint_, call.story, cancelled_fault());
    }
    before = std::move(last.failure);
  }
}

asio::awaitable<HttpProvider::Attempt<ChatResponse>> HttpProvider::try_chat(
    std::shared_ptr<const Chat> chat, Call call) {
  const auto state = std::make_shared<ResponseState>();
  state->schema_use = schema_use(chat->request.model);
  FetchOptions fetch;
  fetch.deadline = call.deadline;
  fetch.cancel = call.cancel;
  if (chat->on_text) listen(chat, state, fetch);
  const Delivery delivery = chat->on_text ? Delivery::streamed : Delivery::whole;
  HttpRequest http = format_->encode(chat->request, endpoint_, delivery, state->schema_use);
  const HttpOutcome outcome = co_await client_.fetch(std::move(http), std::move(fetch));
  co_return judge(*chat, call, *state, outcome);
}

void HttpProvider::listen(const std::shared_ptr<const Chat>& chat,
                          const std::shared_ptr<ResponseState>& state, FetchOptions& fetch) const {
  state->decoder = format_->stream_decoder();
  state->say = [chat, delivered = &state->delivered](std::string_view text) {
    *delivered = Delivered::something;
    chat->on_text(text);
  };
  fetch.on_body = [state](int status, std::string_view bytes) {
    if (is_success(status)) state->decoder->add(bytes, state->say);
  };
  fetch.has_enough = [state] { return state->decoder->done(); };
}

HttpProvider::Attempt<ChatResponse> HttpProvider::judge(const Chat& chat, const Call& call,
                                                        ResponseState& state,
                                                        const HttpOutcome& outcome) {
  // A connection that broke after the answer's last word, or after its error, does no harm, and
  // neither does one that stays open for ever.
  const auto* broken = std::get_if<HttpFault>(&outcome);
  const bool ended = broken != nullptr && (broken->kind == HttpFault::interrupted ||
                                           broken->kind == HttpFault::timed_out);
  const bool heard = ended && is_success(broken->status) && state.decoder;
  if (broken != nullptr && !heard) return failed_attempt(call, *broken, state.delivered);
  const HttpReply no_reply;
  const HttpReply& reply = heard ? no_reply : std::get<HttpReply>(outcome);
  Answer answer = read(state, reply);
  if (auto* response = std::get_if<ChatResponse>(&answer)) {
    response->request_id = foreign_text(request_id_of(reply), endpoint_.api_key);
    if (response->model.empty()) response->model = chat.request.model;
    response->tries = call.story.tries;
    response->latency = std::chrono::duration_cast<milliseconds>(Clock::now() - call.started);
    return std::move(*response);
  }
  auto& fault = std::get<ProviderFault>(answer);
  if (heard && fault.status == 0) return failed_attempt(call, *broken, state.delivered);
  const bool refused_schema = chat.request.schema && state.schema_use == SchemaUse::enforced &&
                              state.delivered == Delivered::nothing && refuses_schema(fault);
  FailedAttempt result = failed_attempt(call, std::move(fault), reply, state.delivered);
  if (refused_schema) {
    ask_for_schema(chat.request.model);
    result.then = FailedAttempt::Then::repeat;
    result.asked = milliseconds(0);
  }
  return result;
}

Answer HttpProvider::read(ResponseState& state, const HttpReply& reply) const {
  if (reply.status != 0 && !is_success(reply.status)) {
    return format_->decode_error(reply.status, reply.body);
  }
  return state.decoder ? state.decoder->finish(state.say) : format_->decode_reply(reply.body);
}

asio::awaitable<HttpProvider::Attempt<std::vector<std::string>>> HttpProvider::try_models(
    Call call) {
  FetchOptions fetch;
  fetch.deadline = call.deadline;
  fetch.cancel = call.cancel;
  HttpRequest http = format_->encode_models(endpoint_);
  const HttpOutcome outcome = co_await client_.fetch(std::move(http), std::move(fetch));
  if (const auto* broken = std::get_if<HttpFault>(&outcome)) {
    co_return failed_attempt(call, *broken, Delivered::nothing);
  }
  const HttpReply& reply = std::get<HttpReply>(outcome);
  Models models = is_success(reply.status)
                      ? format_->decode_models(reply.body)
                      : Models(format_->decode_error(reply.status, reply.body));
  if (auto* fault = std::get_if<ProviderFault>(&models)) {
    co_return failed_attempt(call, std::move(*fault), reply, Delivered::nothing);
  }
  co_return std::move(std::get<0>(models));
}

HttpProvider::FailedAttempt HttpProvider::failed_attempt(const Call& call, const HttpFault& fault,
                                                         Delivered delivered) const {
  FailedAttempt result;
  result.failure = failure_of(endpoint_, call.story, fault);
  const bool waits_for_it = format_->retry_rules().unreachable == RetryRules::Unreachable::repeated;
  const bool passing = fault.kind == HttpFault::interrupted ||
                       (fault.kind == HttpFault::unreachable && waits_for_it);
  if (passing && delivered == Delivered::nothing) result.then = FailedAttempt::Then::repeat;
  return result;
}

HttpProvider::FailedAttempt HttpProvider::failed_attempt(const Call& call, ProviderFault fault,
                                                         const HttpReply& reply,
                                                         Delivered delivered) const {
  FailedAttempt result;
  result.asked = asked_wait(reply, std::chrono::system_clock::now());
  if (!result.asked) result.asked = fault.wait;
  if (fault.fault == Fault::malformed && !reply.body.empty()) {
    fault.text += "; it begins with " + json::quoted(reply.body);
  }
  // A provider that says when to come back wants a repetition, even where its own client gives up.
  const bool invited = result.asked && (fault.status == 429 || fault.status == 503);
  const bool spent = fault.code == "insufficient_quota";
  bool repeated = fault.fault == Fault::interrupted;
  if (fault.status != 0) repeated = (format_->repeats(fault.status) || invited) && !spent;
  if (delivered == Delivered::nothing && should_retry(reply).value_or(repeated)) {
    result.then = FailedAttempt::Then::repeat;
  }
  if (fault.status == 0) fault.status = reply.status;
  result.failure = failure_of(endpoint_, call.story, fault, result.asked);
  return result;
}

double HttpProvider::chance() {
  const std::lock_guard lock(mutex_);
  return std::uniform_real_distribution<double>(0, 1)(random_);
}

SchemaUse HttpProvider::schema_use(const std::string& model) {
  const std::lock_guard lock(mutex_);
  return without_schemas_.contains(model) ? SchemaUse::asked_for : SchemaUse::enforced;
}

void HttpProvider::ask_for_schema(const std::string& model) {
  const std::lock_guard lock(mutex_);
  if (without_schemas_.size() < max_refusing_models) without_schemas_.insert(model);
}

}  // namespace runtime::llm
