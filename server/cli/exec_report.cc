#include "server/cli/exec_report.h"

#include <fmt/format.h>

#include <chrono>
#include <cstdint>
#include <string>

#include "runtime/sandbox/outcome.h"
#include "server/cli/exit_codes.h"
#include "server/cli/plain_text.h"
#include "server/cli/write_all.h"

namespace server {
namespace {

// One line about a program that did not end by itself, or nothing.
std::string fate_text(const runtime::RunResult& result) {
  if (result.exit_code) return {};
  const std::string remedy =
      runtime::remedy_of(result.outcome, {.time = "--timeout", .memory = "--memory"});
  return result.outcome.cause + (remedy.empty() ? "" : "; " + remedy);
}

// A program that reports "proxy error 403" does not say what was refused.
void tell_network(const runtime::NetworkUse& use) {
  using Kind = runtime::NetworkDecision::Kind;
  for (const runtime::NetworkDecision& told : use.decisions) {
    if (told.kind == Kind::allowed) continue;
    const bool is_beyond = told.reason.starts_with("no rule names");
    const std::string reason = is_beyond ? "not allowed by --allow" : told.reason;
    const std::string times =
        told.connections > 1 ? " (" + std::to_string(told.connections) + " times)" : "";
    const std::string destination = told.destination.empty() ? "a connection" : told.destination;
    fail(0, "network: " + destination + ": " + reason + times);
  }
  std::uint64_t connections = 0;
  for (const runtime::NetworkDecision& told : use.decisions) connections += told.connections;
  if (use.total > connections) {
    fail(0,
         "network: " + std::to_string(use.total - connections) + " more connections are not told");
  }
}

std::string seconds_text(std::chrono::microseconds time) {
  return fmt::format("{:.3f} s", std::chrono::duration<double>(time).count());
}

int print_json(const std::string& json) { return print(json_for_standard_output(json) + "\n"); }

int report(const runtime::RunResult& result, const std::string& json) {
  if (!json.empty()) {
    if (const int failed = print_json(json); failed != 0) return failed;
  } else if (const std::string fate = fate_text(result); !fate.empty()) {
    fail(0, fate);
  }
  return exit_code_of(result);
}

}  // namespace

int report_run(const runtime::RunResult& result, const std::string& json,
               const ArtifactDirectories& directories) {
  tell_network(result.network);
  const int exit_code = report(result, json);
  if (keep_artifacts(result.artifacts, directories) || exit_code != 0) return exit_code;
  return fail(exit_own_failure,
              "the program ended with exit status 0, but an artifact was not written");
}

void tell_usage(const runtime::RunResult& result) {
  const jail::Usage& usage = result.usage;
  const double megabytes = static_cast<double>(usage.memory_peak_bytes) / (1 << 20);
  fail(0, "ran " + seconds_text(result.timings.ran) + ", processor time " +
              seconds_text(usage.cpu_user + usage.cpu_system) + ", memory " +
              fmt::format("{:.1f}", megabytes) + " MB at most" + (result.warm ? ", warm" : ""));
}

void tell_refused(std::string_view error_tail, const runtime::RunRequest& request) {
  constexpr std::string_view no_space = "No space left on device";
  constexpr std::string_view try_again = "Resource temporarily unavailable";
  constexpr std::string_view no_thread = "can't start new thread";
  const jail::Limits usual;
  const auto has = [&](std::string_view text) { return error_tail.find(text) != error_tail.npos; };
  if (has(no_space)) {
    const auto usual_mb = static_cast<std::uint32_t>(usual.workspace_bytes >> 20);
    fail(0, "the program seems to have been refused space: /workspace and /tmp hold " +
                std::to_string(request.disk_limit_mb.value_or(usual_mb)) +
                " MB each; --disk gives more, within --memory");
  }
  if (has(try_again) || has(no_thread)) {
    fail(0, "the program seems to have been refused a process or thread: it may have " +
                std::to_string(request.max_processes.value_or(usual.processes)) +
                " at once; --processes gives more");
  }
}

void keep_results(const runtime::RunResult& result, const std::string& json,
                  const ArtifactDirectories& directories) {
  if (!json.empty()) print_json(json);
  keep_artifacts(result.artifacts, directories);
}

}  // namespace server
