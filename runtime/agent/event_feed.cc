#include "runtime/agent/event_feed.h"

#include <chrono>

#include "runtime/agent/program_text.h"
#include "runtime/json/writer.h"

namespace runtime::agent {
namespace {

// The bytes of each stream that an execution_result shows: the history has all of it.
constexpr std::size_t shown_bytes = 4096;

json::Writer begin_at(const Place& place) {
  json::Writer writer;
  writer.begin_object();
  writer.key("attempt").integer(place.attempt);
  writer.key("candidate").integer(place.candidate);
  return writer;
}

json::Writer begin_in_swarm(const Place& place, std::uint32_t round, std::string_view role) {
  json::Writer writer;
  writer.begin_object().key("role").string(role);
  writer.key("round").integer(round);
  writer.key("attempt").integer(place.attempt);
  writer.key("candidate").integer(place.candidate);
  return writer;
}

std::string end(json::Writer writer) {
  writer.end_object();
  return std::move(writer).take();
}

std::string string_of(std::string_view text) {
  json::Writer writer;
  writer.string(text);
  return std::move(writer).take();
}

}  // namespace

void EventFeed::generating(const Place& place, std::string_view role) const {
  if (!watched()) return;
  json::Writer writer = begin_at(place);
  writer.key("role").string(role);
  sink_({EventType::generating, end(std::move(writer))});
}

void EventFeed::token(std::string_view text) const {
  if (watched()) sink_({EventType::token, string_of(text)});
}

void EventFeed::code(const Attempt& attempt) const {
  if (!watched()) return;
  json::Writer writer = begin_at({.attempt = attempt.number, .candidate = attempt.candidate});
  writer.key("code").string(attempt.code);
  writer.key("reasoning").string(attempt.reasoning);
  writer.key("dependencies").begin_array();
  for (const std::string& name : attempt.dependencies) writer.string(name);
  writer.end_array();
  sink_({EventType::code, end(std::move(writer))});
}

void EventFeed::executing(const Place& place, std::string_view why) const {
  if (!watched()) return;
  json::Writer writer = begin_at(place);
  writer.key("why").string(why);
  sink_({EventType::executing, end(std::move(writer))});
}

void EventFeed::execution_result(const Place& place, const RunResult& result) const {
  if (!watched()) return;
  json::Writer writer = begin_at(place);
  writer.key("status").string(to_string(result.status));
  writer.key("exit_code");
  result.exit_code ? writer.integer(*result.exit_code) : writer.null();
  writer.key("signal");
  result.signal ? writer.string(*result.signal) : writer.null();
  writer.key("stdout").string(head_and_tail(result.standard_output, shown_bytes));
  writer.key("stderr").string(head_and_tail(result.standard_error, shown_bytes));
  const std::chrono::duration<double, std::milli> ran = result.timings.ran;
  writer.key("execution_time_ms").number(ran.count());
  sink_({EventType::execution_result, end(std::move(writer))});
}

void EventFeed::critiquing(std::uint32_t attempt) const {
  if (!watched()) return;
  json::Writer writer;
  writer.begin_object().key("attempt").integer(attempt);
  sink_({EventType::critiquing, end(std::move(writer))});
}

void EventFeed::critique(std::uint32_t attempt, const Critique& critique) const {
  if (!watched()) return;
  json::Writer writer;
  writer.begin_object().key("attempt").integer(attempt);
  writer.key("diagnosis").string(critique.diagnosis);
  writer.key("fix").string(critique.fix);
  writer.key("should_retry").boolean(critique.should_retry);
  writer.key("confidence").number(critique.confidence);
  sink_({EventType::critique, end(std::move(writer))});
}

void EventFeed::retrying(std::uint32_t attempt, std::uint32_t of) const {
  if (!watched()) return;
  json::Writer writer;
  writer.begin_object().key("attempt").integer(attempt).key("of").integer(of);
  sink_({EventType::retrying, end(std::move(writer))});
}

void EventFeed::swarm(const Place& place, std::uint32_t round, Role role,
                      const Answer& answer) const {
  if (!watched()) return;
  json::Writer writer = begin_in_swarm(place, round, name_of(role));
  if (role == Role::architect) writer.key("plan").string(answer.plan);
  if (role == Role::coder) writer.key("reasoning").string(answer.reasoning);
  if (role == Role::coder || role == Role::optimizer) writer.key("code").string(answer.code);
  if (role != Role::coder && role != Role::architect) {
    writer.key("vote").string(answer.approves ? "approve" : "reject");
    writer.key("confidence").number(answer.confidence);
  }
  if (role != Role::coder) {
    writer.key(role == Role::architect ? "pitfalls" : "findings").begin_array();
    for (const std::string& finding : answer.findings) writer.string(finding);
    writer.end_array();
  }
  sink_({EventType::swarm, end(std::move(writer))});
}

void EventFeed::swarm_votes(const Place& place, std::uint32_t round, double approval,
                            std::string_view decision) const {
  if (!watched()) return;
  json::Writer writer = begin_in_swarm(place, round, "votes");
  writer.key("approval").number(approval);
  writer.key("decision").string(decision);
  sink_({EventType::swarm, end(std::move(writer))});
}

void EventFeed::Output::add(Stream stream, std::string_view bytes) {
  std::string& held = held_[static_cast<std::size_t>(stream)];
  std::string whole = std::move(held) + std::string(bytes);
  held = whole.substr(whole.size() - unfinished_bytes(whole));
  whole.resize(whole.size() - held.size());
  put(stream, std::move(whole));
}

void EventFeed::Output::finish() {
  put(Stream::standard_output, std::move(held_[0]));
  put(Stream::standard_error, std::move(held_[1]));
}

void EventFeed::Output::put(Stream stream, std::string bytes) const {
  if (bytes.empty() || !feed_.watched()) return;
  const bool out = stream == Stream::standard_output;
  feed_.sink_({out ? EventType::standard_output : EventType::standard_error, string_of(bytes)});
}

}  // namespace runtime::agent
