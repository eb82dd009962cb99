// GET /v1/sandboxes/{id}/logs: the output of all processes of a sandbox, as a page or as it comes.
#include <boost/asio/post.hpp>
#include <boost/asio/this_coro.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <chrono>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "runtime/json/utc_text.h"
#include "runtime/json/writer.h"
#include "runtime/living/sandbox_output.h"
#include "runtime/service/common_fields.h"
#include "runtime/service/sandbox_json.h"
#include "runtime/service/sandbox_queries.h"
#include "server/api/follow_format.h"
#include "server/api/process_events.h"
#include "server/api/query.h"
#include "server/api/route_groups.h"
#include "server/api/sandbox_target.h"
#include "server/events/told_events.h"
#include "server/events/utf8_chunks.h"

namespace server {
namespace {

namespace asio = boost::asio;
using asio::awaitable;
using runtime::LivingSandbox;
using runtime::OutputEncoding;
using runtime::OutputPage;
using runtime::Refusal;
using runtime::Sandboxes;
using runtime::Stream;
using runtime::json::Writer;
using Living = std::shared_ptr<LivingSandbox>;

struct LogWish {
  runtime::LogQuery query;
  std::optional<EventFormat> format;  // nullopt: the client wants a page
};

std::variant<LogWish, Response> log_wish(const Call& call) {
  LogWish wish;
  runtime::LogQuery& query = wish.query;
  if (auto refusal = read_query(call.query, runtime::log_query_fields(), query)) {
    return std::move(*refusal);
  }
  if (const auto refusal = runtime::check_log_query(query)) return problem(*refusal);
  query.output.from = query.from.value_or(0);
  wish.format = follow_format(call.head, query.follows);
  // A client that reconnects continues where it was.
  const auto seen = runtime::digits_of(call.head.header("Last-Event-ID").value_or(""));
  if (wish.format && seen) {
    query.output.from = *seen;
    query.tail.reset();
  }
  return wish;
}

constexpr std::size_t max_held_back = 128;

// Converts pieces of output to text, separately for each stream of each process: a character may
// come in two pieces.
class LogText {
 public:
  explicit LogText(OutputEncoding encoding) : encoding_(encoding) {}

  // Returns an entry as JSON; std::nullopt where it has no complete character.
  std::optional<std::string> entry(const OutputPage::Entry& entry) {
    if (encoding_ != OutputEncoding::utf8) return text_of(entry, entry.piece.bytes);
    const std::pair whose(entry.pid, entry.piece.stream);
    const auto chunks = chunks_.try_emplace(whose).first;
    std::string ready = chunks->second.add(entry.piece.bytes);
    // The bound is needed since guests choose how many processes end in the middle of a character.
    if (chunks_.size() > max_held_back) ready += chunks->second.finish();
    if (!chunks->second.holds_back()) chunks_.erase(chunks);
    if (ready.empty()) return std::nullopt;
    return text_of(entry, ready);
  }

  // Returns what is held back of characters whose rest does not come.
  std::vector<std::string> rest(const OutputPage::Entry& last) {
    std::vector<std::string> entries;
    for (auto& [whose, chunks] : chunks_) {
      const std::string held = chunks.finish();
      if (held.empty()) continue;
      OutputPage::Entry entry = last;
      entry.pid = whose.first;
      entry.piece.stream = whose.second;
      entries.push_back(text_of(entry, held));
    }
    return entries;
  }

 private:
  std::string text_of(const OutputPage::Entry& entry, const std::string& bytes) const {
    Writer writer;
    writer.begin_object().key("at").string(runtime::json::utc_text(entry.piece.at));
    writer.key("pid").integer(entry.pid).key("stream").string(name_of(entry.piece.stream));
    writer.key("place").integer(static_cast<std::int64_t>(entry.piece.place));
    writer.key("data").json(runtime::output_json(bytes, encoding_)).end_object();
    return std::move(writer).take();
  }

  const OutputEncoding encoding_;
  // For streams whose last character is incomplete.
  std::map<std::pair<int, Stream>, Utf8Chunks> chunks_;
};

Response page_answer(const OutputPage& page, OutputEncoding encoding) {
  LogText text(encoding);
  Writer writer;
  writer.begin_object().key("entries").begin_array();
  for (const OutputPage::Entry& entry : page.entries) {
    if (const auto json = text.entry(entry)) writer.json(*json);
  }
  if (!page.entries.empty()) {
    for (const std::string& json : text.rest(page.entries.back())) writer.json(json);
  }
  writer.end_array().key("from").integer(static_cast<std::int64_t>(page.from));
  writer.key("next").integer(static_cast<std::int64_t>(page.next));
  writer.key("lost_bytes").integer(static_cast<std::int64_t>(page.lost));
  writer.key("has_more").boolean(page.has_more).end_object();
  return json_answer(std::move(writer));
}

// Sends output until the client leaves or the sandbox has ended. Nothing is kept for a client that
// reads slowly: what the logs drop meanwhile is reported as lost.
class LogEvents {
 public:
  LogEvents(Living living, const LogWish& wish, ResponseStream& stream, runtime::Cancel gone,
            asio::any_io_executor executor)
      : living_(std::move(living)),
        query_(wish.query.output),
        text_(wish.query.encoding),
        executor_(executor),
        events_(stream, *wish.format, std::move(executor)),
        gone_(std::move(gone)),
        over_(gone_.child()) {}

  awaitable<void> tell() {
    const bool is_open = co_await events_.open();
    if (!is_open) co_return;
    const runtime::Cancel::Listener on_end(living_->over(), [over = over_] { over.request(); });
    for (;;) {
      const bool is_over = over_.requested();
      const OutputPage page = living_->output(query_);
      const bool is_quiet = page.next == query_.from;
      query_.from = page.next;
      const bool is_taken = co_await say_page(page);
      if (!is_taken) co_return;
      if (gone_.requested()) {
        // The client may still be there; then the server is ending.
        co_await events_.say_last("error", stopping().body);
        co_return;
      }
      if (page.has_more) {
        // A filter may leave out all of it, and other requests have their turn meanwhile.
        co_await asio::post(executor_, asio::use_awaitable);
        continue;
      }
      if (is_over) break;
      if (is_quiet && is_late()) {
        const bool is_beaten = co_await events_.beat();
        if (!is_beaten) co_return;
      }
      co_await wait();
    }
    co_await say_end();
  }

 private:
  bool is_late() const { return std::chrono::steady_clock::now() >= beat_at_; }

  awaitable<void> wait() {
    beat_at_ = std::chrono::steady_clock::now() + silence_before_a_heartbeat;
    co_await living_->wait_for_output(query_.from, beat_at_, over_);
  }

  awaitable<bool> say_page(const OutputPage& page) {
    if (page.lost > 0) {
      Writer writer;
      writer.begin_object().key("bytes").integer(static_cast<std::int64_t>(page.lost)).end_object();
      const bool is_taken = co_await events_.say("lost", std::move(writer).take());
      if (!is_taken) co_return false;
    }
    for (const OutputPage::Entry& entry : page.entries) {
      last_ = {entry.pid, {}};
      last_.piece.place = entry.piece.place;
      last_.piece.at = entry.piece.at;
      auto json = text_.entry(entry);
      if (!json) continue;
      const std::uint64_t next = entry.piece.place + entry.piece.bytes.size();
      const bool is_taken = co_await events_.say("log", std::move(*json), std::to_string(next));
      if (!is_taken) co_return false;
    }
    co_return true;
  }

  awaitable<void> say_end() {
    for (std::string& json : text_.rest(last_)) {
      const bool is_taken = co_await events_.say("log", std::move(json));
      if (!is_taken) co_return;
    }
    co_await events_.say_end("sandbox_ended");
  }

  const Living living_;
  runtime::OutputQuery query_;
  LogText text_;
  const asio::any_io_executor executor_;
  ToldEvents events_;
  const runtime::Cancel gone_;
  const runtime::Cancel over_;  // or the sandbox has ended
  runtime::Bell::Time beat_at_ = runtime::Bell::Time::max();
  OutputPage::Entry last_;
};

awaitable<Response> show_logs(runtime::Services services,
                              std::shared_ptr<runtime::Followers> followers, Call call) {
  auto read = log_wish(call);
  if (auto* refusal = std::get_if<Response>(&read)) co_return std::move(*refusal);
  auto& wish = std::get<LogWish>(read);
  runtime::LogQuery& query = wish.query;
  const auto found = services.sandboxes->find(call.principal, call.parameter("id"));
  if (const auto* refusal = std::get_if<Refusal>(&found)) co_return problem(*refusal);
  const Living living = std::get<Sandboxes::Found>(found)->living();
  if (living == nullptr) {
    co_return problem(RefusalCode::output_gone, "its output went with the server that it lived on");
  }
  if (query.tail) query.output.from = living->output_tail(query.output.filter, *query.tail);
  if (!wish.format) co_return page_answer(living->output(query.output), query.encoding);
  const auto place = followers->take(call.principal);
  if (const auto* refusal = std::get_if<Refusal>(&place)) co_return problem(*refusal);
  const LivingSandbox::Use use(living);
  LogEvents events(living, wish, *call.stream, call.gone, co_await asio::this_coro::executor);
  co_await events.tell();
  co_return Response();
}

}  // namespace

void add_sandbox_logs_route(const RouteParts& parts) {
  parts.table.add({"GET", "/v1/sandboxes/{id}/logs", Access::key(Scope::read), Cost::record,
                   bound(show_logs, parts.services, parts.followers),
                   runtime::names_of(runtime::log_query_fields()), Route::Versions::plain});
}

}  // namespace server
