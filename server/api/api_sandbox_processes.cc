// The routes of processes in sandboxes that live.
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
#include "server/api/decode.h"
#include "server/api/process_events.h"
#include "server/api/query.h"
#include "server/api/refusals.h"
#include "server/api/route_groups.h"

namespace server {
namespace {

using boost::asio::awaitable;
using runtime::LivingProcess;
using runtime::OutputEncoding;
using runtime::Refusal;
using runtime::Sandboxes;
using runtime::json::Writer;

using Process = std::shared_ptr<LivingProcess>;

// A process that is killed is gone in milliseconds, unless the kernel has something to do for it.
constexpr std::chrono::seconds patience_for_a_killed_process{2};
// More than is ever kept of what a process printed.
constexpr std::size_t all_bytes = 1u << 20;

// A process of a sandbox that lives and is not idle meanwhile.
struct Target {
  Sandboxes::Found sandbox;
  runtime::LivingSandbox::Use use;
  Process process;  // null where the sandbox alone is meant
};

// Whether the sandbox has to run for what is asked. What the server itself remembers of a process
// can be had of one that is paused, and a process can be killed there.
enum class Needs : std::uint8_t { record, processes };

std::variant<Target, Response> sandbox_of(const runtime::Services& services, const Call& call,
                                          Needs needs) {
  const std::string& id = call.parameter("id");
  const auto found = needs == Needs::processes
                         ? services.sandboxes->find_active(call.principal, id)
                         : services.sandboxes->find_living(call.principal, id);
  if (const auto* refusal = std::get_if<Refusal>(&found)) return response_of(*refusal);
  const auto& sandbox = std::get<Sandboxes::Found>(found);
  return Target{sandbox, runtime::LivingSandbox::Use(sandbox->living()), nullptr};
}

std::variant<Target, Response> process_of(const runtime::Services& services, const Call& call,
                                          Needs needs) {
  auto found = sandbox_of(services, call, needs);
  auto* const target = std::get_if<Target>(&found);
  if (target == nullptr) return found;
  const auto process = Sandboxes::find_process(*target->sandbox, call.parameter("pid"));
  if (const auto* refusal = std::get_if<Refusal>(&process)) return response_of(*refusal);
  target->process = std::get<Process>(process);
  return found;
}

Response json_answer(Writer writer, int status = 200) {
  Response response;
  response.status = status;
  response.body = std::move(writer).take();
  return response;
}

Response answer_of(const runtime::Services& services, const Target& target, int status = 200) {
  Writer writer;
  writer.begin_object();
  runtime::write_process(writer, *services.sandboxes, *target.sandbox, *target.process);
  writer.end_object();
  return json_answer(std::move(writer), status);
}

Response conflict(std::string_view code, std::string_view detail) {
  return problem(409, detail, {}, {.code = code});
}

awaitable<Response> answer_at_the_end(runtime::Services services, Target target, Call call,
                                      OutputEncoding encoding) {
  const auto output = co_await runtime::output_to_the_end(target.process, call.gone);
  if (!output.has_ended) co_return stopping();
  co_await Sandboxes::settle(target.sandbox, *target.process);
  Writer writer;
  writer.begin_object();
  runtime::write_process(writer, *services.sandboxes, *target.sandbox, *target.process);
  runtime::write_output(writer, output, encoding);
  writer.end_object();
  co_return json_answer(std::move(writer));
}

ProcessEvents events_of(const runtime::Services& services, const Target& target, const Call& call,
                        EventFormat format, OutputEncoding encoding,
                        boost::asio::any_io_executor executor) {
  return ProcessEvents(
      *call.stream, format, std::move(executor), encoding,
      [sandboxes = services.sandboxes, sandbox = target.sandbox, process = target.process] {
        Writer writer;
        writer.begin_object();
        runtime::write_process(writer, *sandboxes, *sandbox, *process);
        writer.end_object();
        return std::move(writer).take();
      });
}

awaitable<Response> stream_to_the_end(runtime::Services services, Target target, Call call,
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
                                  Call call) {
  runtime::ProcessRequest request;
  if (auto refusal = decode_into(call.body, runtime::process_fields(), *rules, request)) {
    co_return std::move(*refusal);
  }
  if (const auto complaint = runtime::check_process(request)) co_return problem(400, *complaint);
  auto found = sandbox_of(services, call, Needs::processes);
  if (auto* refusal = std::get_if<Response>(&found)) co_return std::move(*refusal);
  auto& target = std::get<Target>(found);
  const bool in_background = request.background;
  const OutputEncoding encoding = request.output_encoding;
  auto started =
      co_await services.sandboxes->start_process(target.sandbox, std::move(request), call.gone);
  if (const auto* refusal = std::get_if<Refusal>(&started)) co_return response_of(*refusal);
  target.process = std::get<Process>(std::move(started));
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

awaitable<Response> list_processes(runtime::Services services, Call call) {
  auto found = sandbox_of(services, call, Needs::record);
  if (auto* refusal = std::get_if<Response>(&found)) co_return std::move(*refusal);
  const auto& target = std::get<Target>(found);
  Writer writer;
  writer.begin_object().key("processes").begin_array();
  for (const Process& process : target.sandbox->living()->processes()) {
    writer.begin_object();
    runtime::write_process(writer, *services.sandboxes, *target.sandbox, *process);
    writer.end_object();
  }
  writer.end_array().end_object();
  co_return json_answer(std::move(writer));
}

awaitable<Response> show_process(runtime::Services services, Call call) {
  auto found = process_of(services, call, Needs::record);
  if (auto* refusal = std::get_if<Response>(&found)) co_return std::move(*refusal);
  co_return answer_of(services, std::get<Target>(found));
}

awaitable<Response> delete_process(runtime::Services services, Call call) {
  auto found = process_of(services, call, Needs::record);
  if (auto* refusal = std::get_if<Response>(&found)) co_return std::move(*refusal);
  const auto& target = std::get<Target>(found);
  if (target.process->state().has_ended) {
    target.sandbox->living()->forget(target.process->pid());
  } else {
    target.process->kill();
    co_await target.process->wait_for_end(std::chrono::steady_clock::now() +
                                          patience_for_a_killed_process);
  }
  co_return no_content();
}

// `from` and `encoding`, or a problem.
struct OutputQuery {
  std::uint64_t from = 0;
  OutputEncoding encoding = OutputEncoding::utf8;
};

std::variant<OutputQuery, Response> output_query(const Call& call) {
  OutputQuery query;
  if (const auto from = call.query.find("from"); from != call.query.end()) {
    const auto place = number_of(from->second);
    if (!place) return problem(400, "from: expected a number of bytes");
    query.from = *place;
  }
  if (const auto encoding = call.query.find("encoding"); encoding != call.query.end()) {
    if (encoding->second != "utf-8" && encoding->second != "base64") {
      return problem(400, "encoding: expected utf-8 or base64");
    }
    if (encoding->second == "base64") query.encoding = OutputEncoding::base64;
  }
  return query;
}

awaitable<Response> show_output(runtime::Services services, Call call) {
  const auto read = output_query(call);
  if (const auto* refusal = std::get_if<Response>(&read)) co_return *refusal;
  const auto& query = std::get<OutputQuery>(read);
  auto found = process_of(services, call, Needs::record);
  if (auto* refusal = std::get_if<Response>(&found)) co_return std::move(*refusal);
  const auto& target = std::get<Target>(found);
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

awaitable<Response> write_input(runtime::Services services, const runtime::RequestRules* rules,
                                Call call) {
  runtime::InputRequest request;
  if (auto refusal = decode_into(call.body, runtime::process_input_fields(), *rules, request)) {
    co_return std::move(*refusal);
  }
  if (const auto complaint = runtime::check_input(request)) co_return problem(400, *complaint);
  auto found = process_of(services, call, Needs::processes);
  if (auto* refusal = std::get_if<Response>(&found)) co_return std::move(*refusal);
  const auto& process = std::get<Target>(found).process;
  using Written = LivingProcess::Written;
  const Written written =
      co_await process->write_input(std::move(request.data), request.close, call.gone);
  switch (written) {
    case Written::whole:
      co_return no_content();
    case Written::busy:
      co_return conflict("input_busy", "another request is writing to it");
    case Written::cancelled:
      co_return stopping();
    case Written::closed:
      break;
  }
  co_return conflict("input_closed", "its input is closed, or nobody reads it any more");
}

awaitable<Response> signal_process(runtime::Services services, const runtime::RequestRules* rules,
                                   Call call) {
  runtime::SignalRequest request;
  if (auto refusal = decode_into(call.body, runtime::process_signal_fields(), *rules, request)) {
    co_return std::move(*refusal);
  }
  if (const auto complaint = runtime::check_signal(request)) co_return problem(400, *complaint);
  auto found = process_of(services, call, Needs::processes);
  if (auto* refusal = std::get_if<Response>(&found)) co_return std::move(*refusal);
  LivingProcess& process = *std::get<Target>(found).process;
  if (process.state().has_ended) co_return conflict("process_ended", "the process has ended");
  const auto sent =
      request.group ? process.signal_group(request.number) : process.signal(request.number);
  if (!sent) co_return conflict("process_ended", "the process has ended");
  co_return no_content();
}

awaitable<Response> resize_terminal(runtime::Services services, const runtime::RequestRules* rules,
                                    Call call) {
  runtime::ResizeRequest request;
  if (auto refusal = decode_into(call.body, runtime::process_resize_fields(), *rules, request)) {
    co_return std::move(*refusal);
  }
  if (const auto complaint = runtime::check_resize(request)) co_return problem(400, *complaint);
  auto found = process_of(services, call, Needs::processes);
  if (auto* refusal = std::get_if<Response>(&found)) co_return std::move(*refusal);
  LivingProcess& process = *std::get<Target>(found).process;
  if (!process.command().terminal) co_return conflict("no_terminal", "it has no terminal");
  const auto resized = process.resize(
      {static_cast<std::uint16_t>(request.columns), static_cast<std::uint16_t>(request.rows)});
  if (!resized) co_return conflict("process_ended", "the process has ended");
  co_return no_content();
}

}  // namespace

void add_sandbox_process_routes(RouteTable& table, const runtime::Services& services,
                                const runtime::RequestRules& rules) {
  using Versions = Route::Versions;
  table.add({"POST", "/v1/sandboxes/{id}/processes", Access::key, Cost::program,
             bound(start_process, services, &rules), QueryNames(), Versions::plain});
  table.add({"GET", "/v1/sandboxes/{id}/processes", Access::key, Cost::record,
             bound(list_processes, services), QueryNames(), Versions::plain});
  table.add({"GET", "/v1/sandboxes/{id}/processes/{pid}", Access::key, Cost::record,
             bound(show_process, services), QueryNames(), Versions::plain});
  table.add({"DELETE", "/v1/sandboxes/{id}/processes/{pid}", Access::key, Cost::record,
             bound(delete_process, services), QueryNames(), Versions::plain});
  table.add({"GET", "/v1/sandboxes/{id}/processes/{pid}/output", Access::key, Cost::record,
             bound(show_output, services), QueryNames{"from", "encoding"}, Versions::plain});
  table.add({"POST", "/v1/sandboxes/{id}/processes/{pid}/stdin", Access::key, Cost::record,
             bound(write_input, services, &rules), QueryNames(), Versions::plain});
  table.add({"POST", "/v1/sandboxes/{id}/processes/{pid}/signal", Access::key, Cost::record,
             bound(signal_process, services, &rules), QueryNames(), Versions::plain});
  table.add({"POST", "/v1/sandboxes/{id}/processes/{pid}/resize", Access::key, Cost::record,
             bound(resize_terminal, services, &rules), QueryNames(), Versions::plain});
}

}  // namespace server
