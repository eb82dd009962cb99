// The reasons for refusing a request, for programs: every code that an answer may have, in one
// place.
#pragma once

#include <cstdint>
#include <span>
#include <string_view>

namespace runtime {

// The codes are in the order of the statuses. A code never changes its name: clients compare with
// it.
enum class RefusalCode : std::uint8_t {
  bad_request,
  bad_json,
  unknown_field,
  missing_field,
  out_of_range,
  bad_http,
  command_not_found,
  too_many_links,
  unauthorized,
  missing_scope,
  not_permitted,
  not_a_file,
  other_site,
  port_reserved,
  service_worker,
  url_expired,
  webhooks_off,
  volumes_off,
  no_such_path,
  no_such_sandbox,
  no_such_process,
  no_such_file,
  no_such_job,
  no_such_lesson,
  no_such_webhook,
  no_such_volume,
  no_such_template,
  lessons_off,
  method_not_allowed,
  request_timeout,
  exists,
  input_busy,
  input_closed,
  is_directory,
  job_ended,
  limit_in_use,
  name_taken,
  no_program,
  no_terminal,
  not_a_directory,
  not_empty,
  other_disk,
  output_gone,
  port_in_use,
  process_ended,
  sandbox_ended,
  sandbox_paused,
  volume_full,
  volume_in_use,
  precondition_failed,
  content_too_large,
  unsupported_media_type,
  range_not_satisfiable,
  expectation_failed,
  misdirected_request,
  no_provider,
  upgrade_required,
  caller_limit,
  rate_limit,
  too_many_followers,
  too_many_connections,
  request_header_fields_too_large,
  internal_server_error,
  port_bad_answer,
  port_closed,
  busy,
  host_exhausted,
  not_paused,
  stopping,
  too_slow,
  port_timeout,
  disk_full,
};

struct RefusalKind {
  RefusalCode code;
  std::string_view name;  // "name_taken"
  int status;             // HTTP status
  std::string_view meaning;
  std::string_view remedy{};  // what the caller can do; empty: nothing, or the detail says it
};

// The kinds are in the order of the codes.
std::span<const RefusalKind> refusal_kinds() noexcept;
const RefusalKind& kind_of(RefusalCode code) noexcept;

// Returns a name such as "name_taken".
std::string_view name_of(RefusalCode code) noexcept;

}  // namespace runtime
