// GET /v1/sandboxes/{id}/logs: what all processes of a sandbox print, as a page or as it comes.
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
#include "server/api/follow_format.h"
#include "server/api/process_events.h"
#include "server/api/query.h"
#include "server/api/refusals.h"
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

constexpr std::uint32_t most_entries = 1000;
constexpr std::uint32_t most_lines = 10'000;

struct LogQuery {
  runtime::OutputQuery output;
  std::optional<std::uint32_t> tail;
  OutputEncoding encoding = OutputEncoding::utf8;
  std::optional<EventFormat> format;  // nothing: a page is wanted
};

// What is wrong with a parameter, or nothing.
std::optional<std::string> read_log_parameter(std::string_view name, const std::string& value,
                                              LogQuery& query) {
  runtime::OutputQuery& output = query.output;
  if (name == "from") {
    const auto place = number_of(value);
    if (!place) return "from: expected the next of another page, or a number of bytes";
    output.from = *place;
  } else if (name == "limit") {
    std::uint32_t limit = most_entries;
    if (auto complaint = read_limit(value, most_entries, limit)) return complaint;
    output.max_pieces = limit;
  } else if (name == "process") {
    const auto pid = number_of(value);
    if (!pid || *pid == 0 || *pid > INT32_MAX) return "process: expected the pid of a process";
    output.filter.pid = static_cast<int>(*pid);
  } else if (name == "stream") {
    if (value != "stdout" && value != "stderr") return "stream: expected stdout or stderr";
    output.filter.stream = value == "stdout" ? Stream::standard_output : Stream::standard_error;
  } else if (name == "tail") {
    const auto lines = number_of(value);
    if (!lines || *lines > most_lines) {
      return "tail: expected a number of lines, at most " + std::to_string(most_lines);
    }
    query.tail = static_cast<std::uint32_t>(*lines);
  } else if (name == "encoding") {
    return read_encoding(value, query.encoding);
  }
  return std::nullopt;
}

std::variant<LogQuery, Response> log_query(const Call& call) {
  LogQuery query;
  for (const auto& [name, value] : call.query) {
    if (const auto complaint = read_log_parameter(name, value, query))
      return problem(400, *complaint);
  }
  if (query.tail && call.query.contains("from")) {
    return problem(400, "tail: expected without from, since either says where to begin");
  }
  const auto format = follow_format(call);
  if (const auto* refusal = std::get_if<Response>(&format)) return *refusal;
  query.format = std::get<0>(format);
  // A client that connects again goes on where it was.
  const auto seen = number_of(call.head.header("Last-Event-ID").value_or(""));
  if (query.format && seen) {
    query.output.from = *seen;
    query.tail.reset();
  }
  return query;
}

constexpr std::size_t max_held_back = 128;

// Pieces of output as text, each process's streams by themselves: a character may come in two.
class LogText {
 public:
  explicit LogText(OutputEncoding encoding) : encoding_(encoding) {}

  // An entry as JSON; nothing where no character of it is whole.
  std::optional<std::string> entry(const OutputPage::Entry& entry) {
    if (encoding_ != OutputEncoding::utf8) return text_of(entry, entry.piece.bytes);
    const std::pair whose(entry.pid, entry.piece.stream);
    const auto chunks = chunks_.try_emplace(whose).first;
    std::string ready = chunks->second.add(entry.piece.bytes);
    // Guests choose how many processes end in the middle of a character.
    if (chunks_.size() > max_held_back) ready += chunks->second.finish();
    if (!chunks->second.holds_back()) chunks_.erase(chunks);
    if (ready.empty()) return std::nullopt;
    return text_of(entry, ready);
  }

  // What is held back of characters whose rest does not come.
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
  // Of those whose last character is not whole.
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

// Tells what is printed until the client leaves or the sandbox has ended. Nothing waits here for a
// client that reads slowly: what the logs drop meanwhile is told as lost.
class LogEvents {
 public:
  LogEvents(Living living, const LogQuery& query, ResponseStream& stream, runtime::Cancel gone,
            asio::any_io_executor executor)
      : living_(std::move(living)),
        query_(query),
        text_(query_.encoding),
        executor_(executor),
        events_(stream, *query_.format, std::move(executor)),
        gone_(std::move(gone)),
        over_(gone_.child()) {}

  awaitable<void> tell() {
    const bool is_open = co_await events_.open();
    if (!is_open) co_return;
    const runtime::Cancel::Listener on_end(living_->over(), [over = over_] { over.request(); });
    for (;;) {
      const bool is_over = over_.requested();
      const OutputPage page = living_->output(query_.output);
      const bool is_quiet = page.next == query_.output.from;
      query_.output.from = page.next;
      const bool is_taken = co_await say_page(page);
      if (!is_taken) co_return;
      if (gone_.requested()) {
        // The client may be there still: then it is the server that ends.
        co_await events_.say_last("error", stopping().body);
        co_return;
      }
      if (page.has_more) {
        // A filter may leave all of it out, and others have their turn meanwhile.
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
    co_await living_->wait_for_output(query_.output.from, beat_at_, over_);
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
  LogQuery query_;
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
  auto read = log_query(call);
  if (auto* refusal = std::get_if<Response>(&read)) co_return std::move(*refusal);
  auto& query = std::get<LogQuery>(read);
  const auto found = services.sandboxes->find(call.principal, call.parameter("id"));
  if (const auto* refusal = std::get_if<Refusal>(&found)) co_return response_of(*refusal);
  const Living living = std::get<Sandboxes::Found>(found)->living();
  if (living == nullptr) {
    co_return problem(409, "its output went with the server that it lived on", {},
                      {.code = "output_gone"});
  }
  if (query.tail) query.output.from = living->output_tail(query.output.filter, *query.tail);
  if (!query.format) co_return page_answer(living->output(query.output), query.encoding);
  const auto place = followers->take(call.principal);
  if (const auto* refusal = std::get_if<Refusal>(&place)) co_return response_of(*refusal);
  const LivingSandbox::Use use(living);
  LogEvents events(living, query, *call.stream, call.gone, co_await asio::this_coro::executor);
  co_await events.tell();
  co_return Response();
}

}  // namespace

void add_sandbox_logs_route(RouteTable& table, const runtime::Services& services,
                            const std::shared_ptr<runtime::Followers>& followers) {
  table.add({"GET", "/v1/sandboxes/{id}/logs", Access::key, Cost::record,
             bound(show_logs, services, followers),
             QueryNames{"from", "limit", "process", "stream", "tail", "encoding", "follow"},
             Route::Versions::plain});
}

}  // namespace server
