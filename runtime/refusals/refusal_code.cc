#include "runtime/refusals/refusal_code.h"

#include <cstddef>
#include <iterator>

namespace runtime {
namespace {

using Code = RefusalCode;

constexpr RefusalKind kinds[] = {
    {Code::bad_request, "bad_request", 400,
     "A field, a parameter, the path or a header is not as it is described; the detail names it."},
    {Code::bad_json, "bad_json", 400,
     "The body is not one JSON object; the detail has the line and the column.",
     "send one JSON object (RFC 8259)"},
    {Code::unknown_field, "unknown_field", 400,
     "The body or the query has a field that the route does not have."},
    {Code::missing_field, "missing_field", 400,
     "A field or a parameter that is required is not there."},
    {Code::out_of_range, "out_of_range", 400, "A field is below or above its bound.",
     "stay within the bound that the detail names"},
    {Code::bad_http, "bad_http", 400, "The request is not framed as HTTP/1.1 or a form says.",
     "check the client or the proxy that sent it"},
    {Code::command_not_found, "command_not_found", 400, "The sandbox has no such program.",
     "name a program that is in PATH of the sandbox, or an absolute path"},
    {Code::too_many_links, "too_many_links", 400,
     "The path has too many symbolic links or levels."},
    {Code::unauthorized, "unauthorized", 401, "No valid key, token or signed URL was shown.",
     "show a key in Authorization: Bearer"},
    {Code::missing_scope, "missing_scope", 403, "The key lacks the scope that the detail names.",
     "show a key that has it, or ask the operator to add it to this one in API_KEY_SCOPES"},
    {Code::not_permitted, "not_permitted", 403,
     "The sandbox or its operator does not permit it there."},
    {Code::not_a_file, "not_a_file", 403,
     "The path leads to something that is neither a file nor a directory."},
    {Code::other_site, "other_site", 403, "A page of another site asks.",
     "ask from a program, or from a page of this server"},
    {Code::port_reserved, "port_reserved", 403,
     "The port is the sandbox's way out, or for its secrets.",
     "let the server in the sandbox listen on another port"},
    {Code::service_worker, "service_worker", 403,
     "A page of a port wants a service worker for the server's own origin.",
     "use the name that the port has of its own"},
    {Code::url_expired, "url_expired", 403, "The signed URL is too old.",
     "ask whoever signed it for a new one"},
    {Code::webhooks_off, "webhooks_off", 403, "The operator allows no webhooks."},
    {Code::volumes_off, "volumes_off", 403, "The operator has no place for volumes."},
    {Code::no_such_path, "no_such_path", 404, "The server has no such path.",
     "/openapi.json lists the paths"},
    {Code::no_such_sandbox, "no_such_sandbox", 404,
     "There is no such sandbox, or it is another key's."},
    {Code::no_such_process, "no_such_process", 404, "The sandbox has no such process."},
    {Code::no_such_file, "no_such_file", 404, "The sandbox has no such file or directory."},
    {Code::no_such_job, "no_such_job", 404, "There is no such job, or it is another key's."},
    {Code::no_such_lesson, "no_such_lesson", 404,
     "There is no such lesson, or it is another key's."},
    {Code::no_such_webhook, "no_such_webhook", 404,
     "There is no such webhook, or it is another key's."},
    {Code::no_such_volume, "no_such_volume", 404,
     "There is no such volume, or it is another key's."},
    {Code::no_such_template, "no_such_template", 404, "There is no such template.",
     "GET /v1/templates lists them"},
    {Code::lessons_off, "lessons_off", 404, "The server keeps no lessons."},
    {Code::method_not_allowed, "method_not_allowed", 405,
     "The path has no such method; Allow lists those that it has."},
    {Code::request_timeout, "request_timeout", 408, "The request did not arrive in time."},
    {Code::exists, "exists", 409, "Something else is there already.",
     "choose another path, or remove what is there"},
    {Code::input_busy, "input_busy", 409, "Another request writes to the process.",
     "try again when that one has its answer"},
    {Code::input_closed, "input_closed", 409,
     "The input of the process is closed, or nobody reads it."},
    {Code::is_directory, "is_directory", 409, "The path leads to a directory."},
    {Code::job_ended, "job_ended", 409, "The job has ended already."},
    {Code::name_taken, "name_taken", 409, "Another sandbox or volume of this caller has the name.",
     "choose another name, or delete the other one"},
    {Code::no_program, "no_program", 409, "The job is a task, which has no program of its own.",
     "cancel the task: DELETE /jobs/{id}"},
    {Code::no_terminal, "no_terminal", 409, "The process has no terminal.", "start it with pty"},
    {Code::not_a_directory, "not_a_directory", 409, "A part of the path is no directory."},
    {Code::not_empty, "not_empty", 409, "The directory is not empty."},
    {Code::other_disk, "other_disk", 409, "Both paths are not on one disk of the sandbox."},
    {Code::output_gone, "output_gone", 409,
     "The output went with the server that the sandbox lived on."},
    {Code::port_in_use, "port_in_use", 409, "A program uses the port that the way out needs.",
     "end what uses the port in the sandbox, and ask again"},
    {Code::process_ended, "process_ended", 409, "The process has ended."},
    {Code::sandbox_ended, "sandbox_ended", 409, "The sandbox has ended.", "create another sandbox"},
    {Code::sandbox_paused, "sandbox_paused", 409,
     "The sandbox is paused, and auto_resume is false.",
     "resume it first: POST /v1/sandboxes/{id}/resume"},
    {Code::volume_full, "volume_full", 409, "The volume has more in it than it may.",
     "make it larger (PATCH /v1/volumes/{id}, size_mb), or read it with read_only"},
    {Code::volume_in_use, "volume_in_use", 409,
     "A sandbox has the volume, or it is being copied or changed; the detail says which.",
     "end that sandbox, or try again when it has ended"},
    {Code::precondition_failed, "precondition_failed", 412,
     "The file has another version than If-Match or If-None-Match wants.",
     "read it again, and decide anew"},
    {Code::content_too_large, "content_too_large", 413,
     "A body, a file or a message is larger than it may be.", "send less at a time"},
    {Code::unsupported_media_type, "unsupported_media_type", 415,
     "The body is of another type or encoded."},
    {Code::range_not_satisfiable, "range_not_satisfiable", 416, "Range is not within the file."},
    {Code::expectation_failed, "expectation_failed", 417, "Expect is not 100-continue.",
     "leave the header Expect out"},
    {Code::misdirected_request, "misdirected_request", 421, "Host is no name of this server."},
    {Code::no_provider, "no_provider", 424,
     "No model is configured that could do it, or not the one that is named."},
    {Code::upgrade_required, "upgrade_required", 426, "The path speaks WebSocket.",
     "connect with a client of WebSocket"},
    {Code::caller_limit, "caller_limit", 429, "This caller has as many as it may have.",
     "try again when one of them has ended"},
    {Code::rate_limit, "rate_limit", 429, "This caller asked too often in a short time.",
     "wait for as long as Retry-After says"},
    {Code::too_many_followers, "too_many_followers", 429,
     "This caller follows as many sandboxes as it may.", "end another one, or ask for pages"},
    {Code::too_many_connections, "too_many_connections", 429,
     "One address has too many connections.", "close some, or use them for several requests"},
    {Code::request_header_fields_too_large, "request_header_fields_too_large", 431,
     "The head of the request is larger than it may be.", "send fewer or shorter headers"},
    {Code::internal_server_error, "internal_server_error", 500,
     "A failure of the server; its log has the reason under the request's id."},
    {Code::port_bad_answer, "port_bad_answer", 502,
     "The server in the sandbox does not answer in HTTP/1.1."},
    {Code::port_closed, "port_closed", 502, "Nobody listens on the port.",
     "start a server in the sandbox that listens on that port"},
    {Code::busy, "busy", 503, "The server has as many as it may have.",
     "try again in a second, with fewer requests at a time"},
    {Code::host_exhausted, "host_exhausted", 503,
     "The host has no processes, descriptors or memory for it.",
     "try again in a second, with fewer requests at a time"},
    {Code::not_paused, "not_paused", 503,
     "The processes of the sandbox could not be stopped in time, and go on.", "try again"},
    {Code::stopping, "stopping", 503, "The server is stopping.", "try again when it is back"},
    {Code::too_slow, "too_slow", 503, "The host did not do it in time.",
     "try again in a second, with fewer requests at a time"},
    {Code::port_timeout, "port_timeout", 504, "The server in the sandbox does not answer in time."},
    {Code::disk_full, "disk_full", 507, "The disk limit of the sandbox is met.",
     "remove files, or create a sandbox with a larger limits.disk_mb"},
};

constexpr bool is_in_order() {
  for (std::size_t i = 0; i < std::size(kinds); ++i) {
    if (static_cast<std::size_t>(kinds[i].code) != i) return false;
  }
  return true;
}
static_assert(is_in_order() && std::size(kinds) == static_cast<std::size_t>(Code::disk_full) + 1);

}  // namespace

std::span<const RefusalKind> refusal_kinds() noexcept { return kinds; }

const RefusalKind& kind_of(RefusalCode code) noexcept {
  return kinds[static_cast<std::size_t>(code)];
}

std::string_view name_of(RefusalCode code) noexcept { return kind_of(code).name; }

}  // namespace runtime
