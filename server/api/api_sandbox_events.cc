// The routes of sandboxes' events: those of one sandbox, and those of all of a caller's.
#include <boost/asio/steady_timer.hpp>
#include <boost/asio/this_coro.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <variant>

#include "runtime/json/writer.h"
#include "runtime/service/list_queries.h"
#include "runtime/service/sandbox_json.h"
#include "server/api/follow_format.h"
#include "server/api/query.h"
#include "server/api/route_groups.h"
#include "server/events/told_events.h"

namespace server {
namespace {

namespace asio = boost::asio;
using asio::awaitable;
using runtime::EventListQuery;
using runtime::Refusal;
using runtime::Sandboxes;
using runtime::SandboxEventPage;
using runtime::SandboxEventQuery;

// The pause between looks, so that one look finds all events of that time: each is a query on the
// disk's thread.
constexpr std::chrono::milliseconds rest_between_looks{50};

Response events_failed(const runtime::Services& services, const Call& call,
                       const jail::Error& error) {
  services.logger.error("events cannot be read",
                        {{"request_id", call.head.request_id}, {"error", error.message()}});
  return problem(RefusalCode::internal_server_error,
                 "events cannot be read; the server's log has the reason under this request's id");
}

awaitable<Response> page_of_events(runtime::Services services, Call call, SandboxEventQuery query) {
  const auto page = co_await services.sandboxes->events(std::move(query));
  if (!page) co_return events_failed(services, call, page.error());
  runtime::json::Writer writer;
  writer.begin_object().key("events").begin_array();
  for (const runtime::SandboxEvent& event : page->events) runtime::write_event(writer, event);
  writer.end_array().key("next_cursor");
  page->has_more ? writer.string(std::to_string(page->events.back().number)) : writer.null();
  writer.end_object();
  Response response;
  response.body = std::move(writer).take();
  co_return response;
}

// Sends stored events and then new ones, the oldest first. Nothing is kept for a client that reads
// slowly: each look at the store continues behind the last event that was sent, and events that the
// store has dropped meanwhile are reported as lost.
class FollowedEvents {
 public:
  // How to recognize that no more events can come, and the reason.
  struct End {
    std::function<bool()> has_come;
    std::function<std::string_view()> reason;
  };

  FollowedEvents(runtime::Services services, Call& call, SandboxEventQuery query,
                 EventFormat format, End end, asio::any_io_executor executor)
      : services_(services),
        call_(call),
        news_(services.sandboxes->event_news()),
        query_(std::move(query)),
        end_(std::move(end)),
        timer_(executor),
        events_(*call.stream, format, std::move(executor)) {}

  awaitable<void> tell() {
    const bool is_open = co_await events_.open();
    if (!is_open) co_return;
    // A client that starts at the beginning gets what is there, and has missed nothing.
    for (bool misses = query_.after > 0;; misses = true) {
      const std::uint64_t seen = news_.count(query_.owner);
      // The query that follows finds all that was noted before.
      const bool is_over = end_.has_come();
      const auto page = co_await services_.sandboxes->events(query_);
      if (call_.gone.requested() || !page) {
        // The client may still be there.
        Response last = page ? stopping() : events_failed(services_, call_, page.error());
        co_await events_.say_last("error", std::move(last.body));
        co_return;
      }
      const bool is_taken = co_await say_page(*page, misses);
      if (!is_taken) co_return;
      if (page->has_more) continue;
      if (is_over) break;
      const bool goes_on = co_await wait(seen);
      if (!goes_on) co_return;
    }
    co_await events_.say_end(end_.reason());
  }

 private:
  awaitable<bool> say_page(const SandboxEventPage& page, bool misses) {
    if (misses && page.oldest > query_.after + 1) {
      const auto lost = static_cast<std::int64_t>(page.oldest - query_.after - 1);
      runtime::json::Writer writer;
      writer.begin_object().key("events").integer(lost).end_object();
      const bool is_taken = co_await events_.say("lost", std::move(writer).take());
      if (!is_taken) co_return false;
    }
    for (const runtime::SandboxEvent& event : page.events) {
      runtime::json::Writer writer;
      runtime::write_event(writer, event);
      const bool is_taken =
          co_await events_.say("event", std::move(writer).take(), std::to_string(event.number));
      if (!is_taken) co_return false;
      query_.after = event.number;
    }
    // Filtered events count as seen, too. A cursor beyond them belongs to another store.
    if (!page.has_more) query_.after = page.newest;
    co_return true;
  }

  // Waits for more news than `seen`. Returns false where the client takes no more.
  awaitable<bool> wait(std::uint64_t seen) {
    timer_.expires_after(rest_between_looks);
    co_await timer_.async_wait(asio::use_awaitable);
    const auto deadline = std::chrono::steady_clock::now() + silence_before_a_heartbeat;
    co_await news_.wait(query_.owner, seen, deadline, call_.gone);
    if (news_.count(query_.owner) > seen || call_.gone.requested()) co_return true;
    co_return co_await events_.beat();
  }

  runtime::Services services_;
  Call& call_;
  runtime::EventNews& news_;
  SandboxEventQuery query_;
  const End end_;
  asio::steady_timer timer_;
  ToldEvents events_;
};

// Where events begin for a client that does not say so.
enum class Begin : std::uint8_t { with_the_stored, now };

awaitable<Response> follow_events(runtime::Services services, runtime::Followers& followers,
                                  Call call, SandboxEventQuery query, EventFormat format,
                                  FollowedEvents::End end, Begin begin) {
  const auto place = followers.take(call.principal);
  if (const auto* refusal = std::get_if<Refusal>(&place)) co_return problem(*refusal);
  const auto last = runtime::event_number_of(call.head.header("Last-Event-ID").value_or(""));
  if (last) query.after = *last;
  const bool begins_somewhere = last || call.query.contains("cursor");
  if (begin == Begin::now && !begins_somewhere) {
    const auto page = co_await services.sandboxes->events(query);
    if (!page) co_return events_failed(services, call, page.error());
    query.after = page->newest;
  }
  FollowedEvents events(services, call, std::move(query), format, std::move(end),
                        co_await asio::this_coro::executor);
  co_await events.tell();
  co_return Response();
}

// The oldest come first, as in a log.
awaitable<Response> list_events(runtime::Services services,
                                std::shared_ptr<runtime::Followers> followers, Call call) {
  const auto found = services.sandboxes->find(call.principal, call.parameter("id"));
  if (const auto* refusal = std::get_if<Refusal>(&found)) co_return problem(*refusal);
  const runtime::Sandbox& sandbox = *std::get<Sandboxes::Found>(found);
  EventListQuery asked;
  if (auto refusal = read_query(call.query, runtime::event_query_fields(), asked)) {
    co_return std::move(*refusal);
  }
  SandboxEventQuery query = std::move(asked.events);
  query.owner = sandbox.owner();
  query.sandbox = sandbox.id();
  query.after = asked.cursor.value_or(0);
  const auto format = follow_format(call.head, asked.follows);
  if (!format) co_return co_await page_of_events(services, std::move(call), std::move(query));
  // When the sandbox's end is known it has been noted, too, since one lock covers both.
  FollowedEvents::End end;
  end.has_come = [sandboxes = services.sandboxes, id = sandbox.id(), principal = call.principal] {
    const auto now = sandboxes->find(principal, id);
    const auto* const living = std::get_if<Sandboxes::Found>(&now);
    return living == nullptr || (*living)->end().has_value();
  };
  end.reason = [sandboxes = services.sandboxes, id = sandbox.id(), principal = call.principal] {
    const auto now = sandboxes->find(principal, id);
    const auto* const ended = std::get_if<Sandboxes::Found>(&now);
    const bool comes_back = ended != nullptr && (*ended)->comes_back();
    return std::string_view(comes_back ? "server_stopping" : "sandbox_ended");
  };
  co_return co_await follow_events(services, *followers, std::move(call), std::move(query), *format,
                                   std::move(end), Begin::with_the_stored);
}

// The newest come first, as in pages of jobs, or the oldest where events are followed.
awaitable<Response> list_audit(runtime::Services services,
                               std::shared_ptr<runtime::Followers> followers, Call call) {
  EventListQuery asked;
  if (auto refusal = read_query(call.query, runtime::audit_query_fields(), asked)) {
    co_return std::move(*refusal);
  }
  const auto format = follow_format(call.head, asked.follows);
  SandboxEventQuery query = std::move(asked.events);
  query.owner = call.principal.tenant;
  query.is_newest_first = !format;
  if (asked.cursor) (query.is_newest_first ? query.before : query.after) = *asked.cursor;
  if (query.is_newest_first) {
    co_return co_await page_of_events(services, std::move(call), std::move(query));
  }
  FollowedEvents::End end;
  end.has_come = [sandboxes = services.sandboxes, owner = query.owner] {
    return sandboxes->is_over_for(owner);
  };
  end.reason = [] { return std::string_view("server_stopping"); };
  co_return co_await follow_events(services, *followers, std::move(call), std::move(query), *format,
                                   std::move(end), Begin::now);
}

}  // namespace

void add_sandbox_event_routes(const RouteParts& parts) {
  using Versions = Route::Versions;
  parts.table.add({"GET", "/v1/sandboxes/{id}/events", Access::key(Scope::read), Cost::record,
                   bound(list_events, parts.services, parts.followers),
                   runtime::names_of(runtime::event_query_fields()), Versions::plain});
  parts.table.add({"GET", "/v1/audit", Access::key(Scope::read), Cost::record,
                   bound(list_audit, parts.services, parts.followers),
                   runtime::names_of(runtime::audit_query_fields()), Versions::plain});
}

}  // namespace server
