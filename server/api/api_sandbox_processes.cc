// The routes of processes in living sandboxes.
#include <boost/asio/this_coro.hpp>
#include <chrono>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <variant>

#include "runtime/json/writer.h"
#include "runtime/service/process_output.h"
#include "runtime/service/sandbox_json.h"
#include "runtime/service/sandbox_queries.h"
#include "server/api/decode.h"
#include "server/api/process_events.h"
#include "server/api/query.h"
#include "server/api/route_groups.h"
#include "server/api/sandbox_target.h"

namespace server {
namespace {

using boost::asio::awaitable;
using runtime::LivingProcess;
using runtime::OutputEncoding;
using runtime::Refusal;
using runtime::Sandboxes;
using runtime::json::Writer;

using Process = std::shared_ptr<LivingProcess>;

// A killed process is gone in milliseconds, unless the kernel has work to do for it.
constexpr std::chrono::seconds patience_for_a_killed_process{2};
// More than is ever kept of a process's output.
constexpr std::size_t all_bytes = 1u << 20;

Response answer_of(const runtime::Services& services, const ProcessTarget& target,
                   int status = 200) {
  Writer writer;
  runtime::write_process(writer, *services.sandboxes, *target.sandbox, *target.process);
  return json_answer(std::move(writer), status);
}

awaitable<Response> answer_at_the_end(runtime::Services services, ProcessTarget target, Call call,
                                      OutputEncoding encoding) {
  const auto output = co_await runtime::output_to_the_end(target.process, call.gone);
  if (!output.has_ended) co_return stopping();
  co_await Sandboxes::settle(target.sandbox, *target.process);
  Writer writer;
  runtime::write_process(writer, *services.sandboxes, *target.sandbox, *target.process, output,
                         encoding);
  co_return json_answer(std::move(writer));
}

ProcessEvents events_of(const runtime::Services& services, const ProcessTarget& target,
                        const Call& call, EventFormat format, OutputEncoding encoding,
                        boost::asio::any_io_executor executor) {
  return ProcessEvents(
      *call.stream, format, std::move(executor), encoding,
      [sandboxes = services.sandboxes, sandbox = target.sandbox, process = target.process] {
        Writer writer;
        runtime::write_process(writer, *sandboxes, *sandbox, *process);
        return std::move(writer).take();
      });
}

awaitable<Response> stream_to_the_end(runtime::Services services, ProcessTarget target, Call call,
                                      EventFormat format, OutputEncoding encoding) {
  runtime::Leash leash(target.process);
  LivingProcess::Pace pace(target.process);
  auto events = events_of(services, target, call, format, encoding,
                          co_await boost::asio::this_coro::executor);
  const bool is_started = co_await events.say_started();
  if (!is_started) co_return Response();
  const bool is_told = co_await events.follow(*target.process, 0, &pace, call.gone);
  if (is_told) leash.let_go();
  co_return Response();
}

awaitable<Response> start_process(runtime::Services services, const runtime::RequestRules* rules,
                                  SandboxTarget in, Call call) {
  runtime::ProcessRequest request;
  if (auto refusal = decode_into(call.body, runtime::process_fields(), *rules, request)) {
    co_return std::move(*refusal);
  }
  if (const auto refusal = runtime::check_process(request)) co_return problem(*refusal);
  const bool in_background = request.background;
  const OutputEncoding encoding = request.output_encoding;
  auto started = co_await services.sandboxes->start_process(caller_of(call), in.sandbox,
                                                            std::move(request), call.gone);
  if (const auto* refusal = std::get_if<Refusal>(&started)) co_return problem(*refusal);
  ProcessTarget target{std::move(in), std::get<Process>(std::move(started))};
  services.logger.info("process started", {{"request_id", call.head.request_id},
                                           {"sandbox_id", target.sandbox->id()},
                                           {"pid", std::int64_t{target.process->pid()}}});
  if (in_background) {
    Response response = answer_of(services, target, 201);
    response.headers.push_back({"Location", "/v1/sandboxes/" + target.sandbox->id() +
                                                "/processes/" +
                                                std::to_string(target.process->pid())});
    co_return response;
  }
  if (const auto format = event_format_of(call.head)) {
    co_return co_await stream_to_the_end(services, std::move(target), std::move(call), *format,
                                         encoding);
  }
  co_return co_await answer_at_the_end(services, std::move(target), std::move(call), encoding);
}

awaitable<Response> list_processes(runtime::Services services, SandboxTarget target, Call) {
  Writer writer;
  writer.begin_object().key("processes").begin_array();
  for (const Process& process : target.sandbox->living()->processes()) {
    runtime::write_process(writer, *services.sandboxes, *target.sandbox, *process);
  }
  writer.end_array().end_object();
  co_return json_answer(std::move(writer));
}

awaitable<Response> show_process(runtime::Services services, ProcessTarget target, Call) {
  co_return answer_of(services, target);
}

awaitable<Response> delete_process(runtime::Services, ProcessTarget target, Call) {
  if (target.process->state().has_ended) {
    target.sandbox->living()->forget(target.process->pid());
  } else {
    target.process->kill();
    co_await target.process->wait_for_end(std::chrono::steady_clock::now() +
                                          patience_for_a_killed_process);
  }
  co_return no_content();
}

// Reads `from` and `encoding`, or returns a problem.
awaitable<Response> show_output(runtime::Services services, ProcessTarget target, Call call) {
  runtime::ProcessOutputQuery query;
  if (auto refusal = read_query(call.query, runtime::process_output_query_fields(), query)) {
    co_return std::move(*refusal);
  }
  if (const auto format = event_format_of(call.head)) {
    auto events = events_of(services, target, call, *format, query.encoding,
                            co_await boost::asio::this_coro::executor);
    co_await events.follow(*target.process, query.from, nullptr, call.gone);
    co_return Response();
  }
  const auto output = target.process->output(query.from, all_bytes);
  Writer writer;
  writer.begin_object().key("from").integer(static_cast<std::int64_t>(output.part.from));
  writer.key("next").integer(static_cast<std::int64_t>(output.part.next));
  writer.key("lost_bytes").integer(static_cast<std::int64_t>(output.part.lost));
  writer.key("pieces").begin_array();
  for (const auto& piece : output.part.pieces) {
    writer.begin_object().key("stream").string(name_of(piece.stream));
    writer.key("data").json(runtime::output_json(piece.bytes, query.encoding)).end_object();
  }
  writer.end_array().key("over").boolean(output.is_over).end_object();
  co_return json_answer(std::move(writer));
}

awaitable<Response> write_input(runtime::Services, const runtime::RequestRules* rules,
                                ProcessTarget target, Call call) {
  runtime::InputRequest request;
  if (auto refusal = decode_into(call.body, runtime::process_input_fields(), *rules, request)) {
    co_return std::move(*refusal);
  }
  if (const auto refusal = runtime::check_input(request)) co_return problem(*refusal);
  const auto& process = target.process;
  using Written = LivingProcess::Written;
  const Written written =
      co_await process->write_input(std::move(request.data), request.close, call.gone);
  switch (written) {
    case Written::whole:
      co_return no_content();
    case Written::busy:
      co_return problem(RefusalCode::input_busy, "another request is writing to it");
    case Written::cancelled:
      co_return stopping();
    case Written::closed:
      break;
  }
  co_return problem(RefusalCode::input_closed, "its input is closed, or nobody reads it any more");
}

awaitable<Response> signal_process(runtime::Services, const runtime::RequestRules* rules,
                                   ProcessTarget target, Call call) {
  runtime::SignalRequest request;
  if (auto refusal = decode_into(call.body, runtime::process_signal_fields(), *rules, request)) {
    co_return std::move(*refusal);
  }
  LivingProcess& process = *target.process;
  if (process.state().has_ended)
    co_return problem(RefusalCode::process_ended, "the process has ended");
  const auto sent =
      request.group ? process.signal_group(request.number) : process.signal(request.number);
  if (!sent) co_return problem(RefusalCode::process_ended, "the process has ended");
  co_return no_content();
}

awaitable<Response> resize_terminal(runtime::Services, const runtime::RequestRules* rules,
                                    ProcessTarget target, Call call) {
  runtime::ResizeRequest request;
  if (auto refusal = decode_into(call.body, runtime::process_resize_fields(), *rules, request)) {
    co_return std::move(*refusal);
  }
  LivingProcess& process = *target.process;
  if (!process.command().terminal)
    co_return problem(RefusalCode::no_terminal, "it has no terminal");
  const auto resized = process.resize(
      {static_cast<std::uint16_t>(request.columns), static_cast<std::uint16_t>(request.rows)});
  if (!resized) co_return problem(RefusalCode::process_ended, "the process has ended");
  co_return no_content();
}

}  // namespace

void add_sandbox_process_routes(const RouteParts& parts) {
  using Versions = Route::Versions;
  parts.table.add({"POST", "/v1/sandboxes/{id}/processes", Access::key(Scope::sandboxes),
                   Cost::program,
                   for_target<active_sandbox>(parts.services, start_process, &parts.rules),
                   QueryNames(), Versions::plain});
  parts.table.add({"GET", "/v1/sandboxes/{id}/processes", Access::key(Scope::read), Cost::record,
                   for_target<sandbox_target>(parts.services, list_processes), QueryNames(),
                   Versions::plain});
  parts.table.add({"GET", "/v1/sandboxes/{id}/processes/{pid}", Access::key(Scope::read),
                   Cost::record, for_target<process_target>(parts.services, show_process),
                   QueryNames(), Versions::plain});
  parts.table.add({"DELETE", "/v1/sandboxes/{id}/processes/{pid}", Access::key(Scope::sandboxes),
                   Cost::record, for_target<process_target>(parts.services, delete_process),
                   QueryNames(), Versions::plain});
  parts.table.add({"GET", "/v1/sandboxes/{id}/processes/{pid}/output", Access::key(Scope::read),
                   Cost::record, for_target<process_target>(parts.services, show_output),
                   runtime::names_of(runtime::process_output_query_fields()), Versions::plain});
  parts.table.add({"POST", "/v1/sandboxes/{id}/processes/{pid}/stdin",
                   Access::key(Scope::sandboxes), Cost::record,
                   for_target<active_process>(parts.services, write_input, &parts.rules),
                   QueryNames(), Versions::plain});
  parts.table.add({"POST", "/v1/sandboxes/{id}/processes/{pid}/signal",
                   Access::key(Scope::sandboxes), Cost::record,
                   for_target<active_process>(parts.services, signal_process, &parts.rules),
                   QueryNames(), Versions::plain});
  parts.table.add({"POST", "/v1/sandboxes/{id}/processes/{pid}/resize",
                   Access::key(Scope::sandboxes), Cost::record,
                   for_target<active_process>(parts.services, resize_terminal, &parts.rules),
                   QueryNames(), Versions::plain});
}

}  // namespace server
