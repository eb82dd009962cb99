// The result of a program as JSON text: the callers' answers, and what is kept of a job.
#pragma once

#include <chrono>
#include <string>

#include "jail/exit_report.h"
#include "runtime/json/writer.h"
#include "runtime/sandbox/outcome.h"
#include "runtime/sandbox/run_request.h"
#include "runtime/sandbox/run_result.h"
#include "runtime/service/execution.h"

namespace runtime {

double milliseconds(std::chrono::microseconds duration);

// Writes the member `limits`: what holds each limit.
void write_limits(json::Writer& writer, const jail::Enforcement& enforcement);

// Writes an object with code, cause, limit, used and remedy.
void write_outcome(json::Writer& writer, const Outcome& outcome, const LimitNames& names = {});

// Writes the members `artifacts`, `artifacts_skipped` and `artifacts_skipped_total`.
void write_artifacts(json::Writer& writer, const jail::Collection& artifacts);

std::string encode_result(const RunResult& result, const Execution& execution,
                          OutputEncoding encoding);

}  // namespace runtime
