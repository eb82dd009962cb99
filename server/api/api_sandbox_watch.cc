// GET /v1/sandboxes/{id}/watch: changes to files of a living sandbox, as events.
#include <boost/asio/steady_timer.hpp>
#include <boost/asio/this_coro.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <chrono>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <variant>

#include "runtime/json/writer.h"
#include "runtime/living/directory_watch.h"
#include "runtime/sandbox/alarm.h"
#include "runtime/service/sandbox_json.h"
#include "runtime/service/sandbox_queries.h"
#include "server/api/query.h"
#include "server/api/route_groups.h"
#include "server/api/sandbox_target.h"
#include "server/events/told_events.h"

namespace server {
namespace {

namespace asio = boost::asio;
using asio::awaitable;
using runtime::DirectoryWatch;
using runtime::FileEvent;
using runtime::Sandboxes;
using runtime::json::Writer;
using Events = DirectoryWatch::Events;

// While a guest causes events all the time, the kernel merges equal ones during this pause.
constexpr std::chrono::milliseconds rest_of_a_flood{50};

// Sends events until the client leaves, the sandbox ends or the directory is gone.
class WatchEvents {
 public:
  WatchEvents(Sandboxes& sandboxes, SandboxTarget target, DirectoryWatch watch,
              ResponseStream& stream, EventFormat format, asio::any_io_executor executor,
              runtime::Cancel gone)
      : sandboxes_(sandboxes),
        target_(std::move(target)),
        watch_(std::move(watch)),
        events_(stream, format, executor),
        executor_(std::move(executor)),
        gone_(std::move(gone)),
        over_(gone_.child()) {}

  awaitable<void> tell(std::string path, bool is_recursive) {
    Writer writer;
    writer.begin_object().key("path").string(path).key("recursive").boolean(is_recursive);
    writer.key("directories").integer(static_cast<std::int64_t>(watch_.directories()));
    writer.end_object();
    const bool is_said = co_await events_.say("watching", std::move(writer).take());
    if (!is_said) co_return;
    const runtime::Cancel::Listener on_end(target_.sandbox->living()->over(),
                                           [over = over_] { over.request(); });
    co_await tell_all();
  }

 private:
  // Returns false where the client takes no more.
  awaitable<bool> tell_all() {
    const auto clock = runtime::system_time();
    const auto alarm = runtime::Alarm::create(executor_, *clock, over_);
    const runtime::Alarm::Watch changes(*alarm, watch_.fd());
    bool has_more = false;
    for (;;) {
      if (has_more) {
        co_await rest();
      } else {
        alarm->set_deadline(clock->now() + silence_before_a_heartbeat);
        co_await alarm->wait();
      }
      if (gone_.requested()) co_return co_await events_.say_last("error", stopping().body);
      if (over_.requested()) co_return co_await events_.say_end("sandbox_ended");
      if (!has_more && alarm->was_woken()) {
        const bool is_taken = co_await events_.beat();
        if (!is_taken) co_return false;
        continue;
      }
      const auto read = co_await read_events();
      if (!read) {
        if (read.error().kind == jail::ErrorKind::closed) continue;
        co_await rest();
        continue;
      }
      for (const FileEvent& event : read->events) {
        const bool is_taken = co_await say_event(event);
        if (!is_taken) co_return false;
      }
      if (read->is_over) co_return co_await events_.say_end("directory_gone");
      has_more = read->has_more;
    }
  }

  awaitable<jail::Result<Events>> read_events() {
    auto read = [watch = &watch_]() -> jail::Result<Events> { return watch->read(); };
    co_return co_await sandboxes_.do_file_work(*target_.sandbox, std::move(read));
  }

  awaitable<void> rest() {
    asio::steady_timer timer(executor_, rest_of_a_flood);
    co_await timer.async_wait(asio::use_awaitable);
  }

  awaitable<bool> say_event(const FileEvent& event) {
    Writer writer;
    runtime::write_file_event(writer, event);
    co_return co_await events_.say(runtime::name_of(event.type), std::move(writer).take());
  }

  Sandboxes& sandboxes_;
  const SandboxTarget target_;
  DirectoryWatch watch_;
  ToldEvents events_;
  const asio::any_io_executor executor_;
  const runtime::Cancel gone_;
  const runtime::Cancel over_;  // or the sandbox has ended
};

awaitable<Response> watch_directory(runtime::Services services, SandboxTarget target, Call call) {
  runtime::WatchQuery query{.path = target.sandbox->request().working_directory};
  if (auto refusal = read_query(call.query, runtime::watch_query_fields(), query)) {
    co_return std::move(*refusal);
  }
  auto start = [files = target.sandbox->files(), query, bounds = target.sandbox->watch_bounds()] {
    const auto open = [files](std::string_view directory) {
      return files.open_directory(directory);
    };
    return DirectoryWatch::start(open, query.path, query.is_recursive, bounds);
  };
  auto watch = co_await services.sandboxes->do_file_work(*target.sandbox, std::move(start));
  if (!watch) co_return problem(Sandboxes::refusal_of_file(watch.error()));
  WatchEvents events(*services.sandboxes, std::move(target), std::move(*watch), *call.stream,
                     event_format_of(call.head).value_or(EventFormat::sse),
                     co_await asio::this_coro::executor, call.gone);
  co_await events.tell(std::move(query.path), query.is_recursive);
  co_return Response();
}

}  // namespace

void add_sandbox_watch_route(const RouteParts& parts) {
  parts.table.add({"GET", "/v1/sandboxes/{id}/watch", Access::key(Scope::read), Cost::record,
                   for_target<sandbox_target>(parts.services, watch_directory),
                   runtime::names_of(runtime::watch_query_fields()), Route::Versions::plain});
}

}  // namespace server
