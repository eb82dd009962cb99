// Which fields of a value are kept, in which order. The decoder finds a field by its place, so:
//
// - A new field comes last in its list. In an older record it has its default.
// - A field that is given up keeps its place.
// - A new enumerator comes last, and the constant most<> beside its type follows it.
//
// Any other change needs a new number of the format (records.cc) and a reader for the old one.
#pragma once

#include <concepts>
#include <tuple>
#include <type_traits>

#include "runtime/service/records.h"

namespace runtime::record {

template <class Value, class Type>
concept Is = std::same_as<std::remove_const_t<Value>, Type>;

// The last enumerator.
template <class Enum>
constexpr Enum most = Enum::must_be_told;
template <>
inline constexpr Status most<Status> = Status::cancelled;
template <>
inline constexpr RequestLimit most<RequestLimit> = RequestLimit::disk;
template <>
inline constexpr OutputEncoding most<OutputEncoding> = OutputEncoding::base64;
template <>
inline constexpr jail::SkipReason most<jail::SkipReason> = jail::SkipReason::unreadable;
template <>
inline constexpr NetworkDecision::Kind most<NetworkDecision::Kind> = NetworkDecision::Kind::allowed;
template <>
inline constexpr jail::Enforcer most<jail::Enforcer> = jail::Enforcer::cgroup;
template <>
inline constexpr agent::TaskStatus most<agent::TaskStatus> = agent::TaskStatus::cancelled;
template <>
inline constexpr agent::Verification most<agent::Verification> = agent::Verification::passed;

auto fields(Is<Outcome> auto& of) {
  return std::tie(of.code, of.cause, of.met, of.limit, of.used, of.asked, of.ceiling);
}

auto fields(Is<jail::CollectedFile> auto& of) { return std::tie(of.path, of.content); }

auto fields(Is<jail::SkippedFile> auto& of) { return std::tie(of.path, of.reason); }

auto fields(Is<jail::Collection> auto& of) {
  return std::tie(of.files, of.skipped, of.skipped_total);
}

auto fields(Is<Timings> auto& of) { return std::tie(of.queued, of.started, of.ran); }

auto fields(Is<jail::Usage> auto& of) {
  return std::tie(of.cpu_user, of.cpu_system, of.memory_peak_bytes);
}

auto fields(Is<jail::Enforcement> auto& of) { return std::tie(of.memory, of.processes, of.cpu); }

auto fields(Is<NetworkDecision> auto& of) {
  return std::tie(of.kind, of.destination, of.reason, of.connections);
}

auto fields(Is<NetworkUse> auto& of) { return std::tie(of.decisions, of.total); }

auto fields(Is<RunResult> auto& of) {
  return std::tie(of.status, of.outcome, of.exit_code, of.signal, of.standard_output,
                  of.standard_error, of.stdout_truncated, of.stderr_truncated, of.warm,
                  of.template_name, of.artifacts, of.timings, of.usage, of.enforcement, of.network);
}

auto fields(Is<llm::Usage> auto& of) { return std::tie(of.input_tokens, of.output_tokens); }

auto fields(Is<agent::Critique> auto& of) {
  return std::tie(of.diagnosis, of.fix, of.should_retry, of.confidence);
}

auto fields(Is<agent::Vote> auto& of) {
  return std::tie(of.role, of.approves, of.confidence, of.findings);
}

auto fields(Is<agent::Attempt> auto& of) {
  return std::tie(of.number, of.code, of.reasoning, of.dependencies, of.result, of.critique,
                  of.votes, of.usage, of.candidate, of.verification);
}

auto fields(Is<agent::TaskResult> auto& of) {
  return std::tie(of.status, of.output, of.code, of.dependencies, of.reasoning, of.history,
                  of.attempts, of.usage, of.execution_time, of.error, of.provider_status,
                  of.artifacts);
}

auto fields(Is<ProgramRecord> auto& of) { return std::tie(of.result, of.encoding); }

auto fields(Is<VolumeMount> auto& of) { return std::tie(of.volume, of.path, of.is_read_only); }

auto fields(Is<SandboxRecord> auto& of) {
  return std::tie(of.number, of.name, of.template_name, of.working_directory, of.metadata,
                  of.memory_mb, of.processes, of.disk_mb, of.network_rules, of.idle, of.created,
                  of.ends_at, of.enforcement, of.outcome, of.ended, of.pauses_at_its_end,
                  of.resumes_on_demand, of.is_on_disk, of.volumes, of.disk, of.env, of.access_token,
                  of.url_key, of.secrets, of.timeout, of.pauses, of.paused_since, of.left,
                  of.cpu_percent, of.is_warm, of.ports);
}

}  // namespace runtime::record
