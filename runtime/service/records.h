// The records of ended jobs and of sandboxes, as values and as the bytes that the store keeps.
//
// The bytes have a format of their own, so that a record outlives every change of an API's answers.
// They are read on any host, and by later versions: see record_fields.h.
#pragma once

#include <chrono>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "jail/exit_report.h"
#include "jail/result.h"
#include "runtime/agent/task.h"
#include "runtime/sandbox/outcome.h"
#include "runtime/sandbox/run_request.h"
#include "runtime/sandbox/run_result.h"
#include "runtime/service/volume_requests.h"

namespace runtime {

struct ProgramRecord {
  RunResult result;
  OutputEncoding encoding = OutputEncoding::utf8;  // as requested by its caller
};

// A living or ended sandbox. Times are since 1970.
struct SandboxRecord {
  std::uint64_t number = 0;  // the owner's number; a later sandbox has a higher one
  std::string name;
  std::string template_name;
  std::string working_directory;
  std::map<std::string, std::string> metadata;
  std::uint32_t memory_mb = 0;
  std::uint32_t processes = 0;
  std::uint32_t disk_mb = 0;
  std::vector<std::string> network_rules;
  std::optional<std::chrono::milliseconds> idle;
  std::chrono::microseconds created{};
  std::chrono::microseconds ends_at{};
  jail::Enforcement enforcement{};
  std::optional<Outcome> outcome;     // nullopt: it lives
  std::chrono::microseconds ended{};  // set where there is an outcome
  bool pauses_at_its_end = false;
  bool resumes_on_demand = true;
  bool is_on_disk = false;  // its working directory was a directory of the host
  std::vector<VolumeMount> volumes;
  // What follows is kept of one that lives and that a later server can bring back, and of no other:
  // its environment and what opens its ports and files may be secrets.
  std::string disk;              // the name of its directory
  std::vector<std::string> env;  // NAME=VALUE
  std::string access_token;
  std::string url_key;
  std::vector<std::string> secrets;  // HOST:PORT HEADER of each, without its value
  std::chrono::milliseconds timeout{};
  std::chrono::milliseconds pauses{};                     // that are over
  std::optional<std::chrono::microseconds> paused_since;  // nullopt: it is not paused
  std::chrono::milliseconds left{};                       // of its lifetime, while it is paused
  // What follows is kept of every one, as what is above the comment.
  std::uint32_t cpu_percent = 0;  // 0: as the operator had it for each jail
  bool is_warm = false;           // the zygote of its template forked programs into it
  std::vector<std::uint32_t> ports;
};

std::string encode_record(const ProgramRecord& record);
// Without TaskResult::host_error, which may name paths of the host.
std::string encode_record(const agent::TaskResult& result);
std::string encode_record(const agent::Attempt& attempt);
std::string encode_record(const SandboxRecord& record);

// Errors: ErrorKind::invalid for bytes that encode_record() did not write for this type,
// unsupported for those of a later format.
jail::Result<ProgramRecord> decode_program(std::string_view bytes);
jail::Result<agent::TaskResult> decode_task(std::string_view bytes);
jail::Result<agent::Attempt> decode_attempt(std::string_view bytes);
jail::Result<SandboxRecord> decode_sandbox(std::string_view bytes);

}  // namespace runtime
