// The routes of files in sandboxes that live.
#include <sys/stat.h>

#include <array>
#include <memory>
#include <optional>
#include <utility>
#include <variant>

#include "runtime/json/writer.h"
#include "runtime/service/sandbox_json.h"
#include "server/api/decode.h"
#include "server/api/query.h"
#include "server/api/refusals.h"
#include "server/api/route_groups.h"
#include "server/http/file_answer.h"

namespace server {
namespace {

using boost::asio::awaitable;
using runtime::FileEntry;
using runtime::Refusal;
using runtime::Sandboxes;
using runtime::SandboxFiles;

constexpr std::size_t piece_bytes = 64u << 10;
constexpr std::uint64_t max_list_depth = 16;

// A file that is asked for, in a sandbox that lives and is not idle meanwhile.
struct FileTarget {
  Sandboxes::Found sandbox;
  runtime::LivingSandbox::Use use;
  std::string path;
  SandboxFiles files;
};

Response response_of_file(const jail::Error& error) {
  return response_of(Sandboxes::refusal_of_file(error));
}

std::variant<FileTarget, Response> target_of(const runtime::Services& services, const Call& call) {
  const auto rest = percent_decoded(call.parameter("path"));
  if (!rest) return problem(400, "path: a % is not followed by two hexadecimal digits");
  if (rest->find('\0') != rest->npos) return problem(400, "path: a NUL is in no path");
  const auto found = services.sandboxes->find_active(call.principal, call.parameter("id"));
  if (const auto* refusal = std::get_if<Refusal>(&found)) return response_of(*refusal);
  const auto& sandbox = std::get<Sandboxes::Found>(found);
  return FileTarget{sandbox, runtime::LivingSandbox::Use(sandbox->living()), "/" + *rest,
                    sandbox->files()};
}

Response answer_of(const FileEntry& entry, int status = 200) {
  runtime::json::Writer writer;
  runtime::write_file_entry(writer, entry);
  Response response;
  response.status = status;
  response.body = std::move(writer).take();
  return response;
}

Response sandbox_ended() {
  return response_of_file({jail::ErrorKind::closed, "the sandbox has ended", 0, {}});
}

// Answers with the entry and `status`, or with the refusal.
Response answer_of(const jail::Result<FileEntry>& entry, int status) {
  return entry ? answer_of(*entry, status) : response_of_file(entry.error());
}

// What was done, for the answer.
struct Done {
  FileEntry entry;
  bool is_new = false;
};

Response answer_of(const jail::Result<Done>& done) {
  if (!done) return response_of_file(done.error());
  return answer_of(done->entry, done->is_new ? 201 : 200);
}

jail::Result<Done> entry_after(const SandboxFiles& files, const std::string& path,
                               const jail::Result<bool>& is_new) {
  if (!is_new) return is_new.error();
  auto entry = files.stat(path);
  if (!entry) return entry.error();
  return Done{std::move(*entry), *is_new};
}

awaitable<Response> list_files(Sandboxes& sandboxes, FileTarget target, int depth) {
  auto work = [files = target.files, path = target.path, depth]() -> jail::Result<std::string> {
    const auto list = files.list(path, depth);
    if (!list) return list.error();
    runtime::json::Writer writer;
    runtime::write_file_list(writer, *list);
    return std::move(writer).take();
  };
  auto list = co_await sandboxes.do_file_work(*target.sandbox, std::move(work));
  if (!list) co_return response_of_file(list.error());
  Response response;
  response.body = std::move(*list);
  co_return response;
}

// Of what was there when it was opened: a guest may write to it meanwhile.
std::string etag_of(const struct stat& status) {
  return "\"" + std::to_string(status.st_ino) + "-" + std::to_string(status.st_size) + "-" +
         std::to_string(status.st_mtim.tv_sec) + "." + std::to_string(status.st_mtim.tv_nsec) +
         "\"";
}

awaitable<Response> read_file(runtime::Services services, Call call) {
  const auto is_stat = flag_of(call.query, "stat");
  const auto is_list = flag_of(call.query, "list");
  if (!is_stat || !is_list) co_return problem(400, "stat, list: expected true or false");
  std::uint64_t depth = 1;
  if (const auto given = call.query.find("depth"); given != call.query.end()) {
    depth = number_of(given->second).value_or(0);
    if (depth < 1 || depth > max_list_depth) {
      co_return problem(400, "depth: expected an integer 1 .. 16");
    }
    if (!*is_list) co_return problem(400, "depth: only with list=true");
  }
  if (*is_stat && *is_list) co_return problem(400, "stat, list: expected one of them");
  auto found = target_of(services, call);
  if (auto* refusal = std::get_if<Response>(&found)) co_return std::move(*refusal);
  auto& target = std::get<FileTarget>(found);
  if (*is_stat) {
    auto look = [files = target.files, path = target.path] { return files.stat(path); };
    const auto entry = co_await services.sandboxes->do_file_work(*target.sandbox, std::move(look));
    co_return answer_of(entry, 200);
  }
  if (*is_list) {
    co_return co_await list_files(*services.sandboxes, std::move(target), static_cast<int>(depth));
  }
  auto open = [files = target.files, path = target.path] { return files.open_to_read(path); };
  auto file = co_await services.sandboxes->do_file_work(*target.sandbox, std::move(open));
  if (!file) co_return response_of_file(file.error());
  struct stat status {};
  ::fstat(file->get(), &status);
  FileAnswer answer;
  answer.file = std::move(*file);
  answer.content_type = "application/octet-stream";
  answer.etag = etag_of(status);
  answer.headers.push_back({"Content-Disposition", "attachment"});
  answer.cancel = target.sandbox->living()->over();
  co_return co_await send_file(std::move(call.head), *call.stream, std::move(answer));
}

// The mode of ?mode=0755, or a complaint.
std::variant<std::optional<mode_t>, std::string> mode_of(const Call& call) {
  const auto given = call.query.find("mode");
  if (given == call.query.end()) return std::optional<mode_t>();
  const std::string& text = given->second;
  const bool is_octal =
      !text.empty() && text.size() <= 4 && text.find_first_not_of("01234567") == text.npos;
  const unsigned long mode = is_octal ? std::stoul(text, nullptr, 8) : 01000;
  if (mode > 0777) return "mode: expected 0000 .. 0777";
  return std::optional<mode_t>(static_cast<mode_t>(mode));
}

awaitable<Response> write_file(runtime::Services services, Call call) {
  const auto mode = mode_of(call);
  if (const auto* complaint = std::get_if<std::string>(&mode)) co_return problem(400, *complaint);
  auto found = target_of(services, call);
  if (auto* refusal = std::get_if<Response>(&found)) co_return std::move(*refusal);
  auto& target = std::get<FileTarget>(found);
  Sandboxes& sandboxes = *services.sandboxes;
  auto create = [files = target.files, path = target.path,
                 mode = std::get<std::optional<mode_t>>(mode)] { return files.create(path, mode); };
  auto file = co_await sandboxes.do_file_work(*target.sandbox, std::move(create));
  if (!file) co_return response_of_file(file.error());
  const auto room = std::make_unique<std::array<char, piece_bytes>>();
  for (auto state = RequestBody::Piece::State::more; state == RequestBody::Piece::State::more;) {
    const auto piece = co_await call.pieces->read(*room);
    state = piece.state;
    if (state == RequestBody::Piece::State::failed) co_return call.pieces->refusal();
    if (target.sandbox->living()->over().requested()) co_return sandbox_ended();
    if (auto written = file->write({room->data(), piece.size}); !written) {
      co_return response_of_file(written.error());
    }
  }
  // The file is not used again here.
  auto commit = [file = &*file, files = target.files, path = target.path] {
    return entry_after(files, path, file->commit());
  };
  const auto done = co_await sandboxes.do_file_work(*target.sandbox, std::move(commit));
  co_return answer_of(done);
}

awaitable<Response> remove_file(runtime::Services services, Call call) {
  const auto recursive = flag_of(call.query, "recursive");
  if (!recursive) co_return problem(400, "recursive: expected true or false");
  auto found = target_of(services, call);
  if (auto* refusal = std::get_if<Response>(&found)) co_return std::move(*refusal);
  const auto& target = std::get<FileTarget>(found);
  auto work = [files = target.files, path = target.path, recursive = *recursive] {
    return files.remove(path, recursive);
  };
  const auto removed = co_await services.sandboxes->do_file_work(*target.sandbox, std::move(work));
  if (!removed) co_return response_of_file(removed.error());
  co_return no_content();
}

awaitable<Response> change_file(runtime::Services services, const runtime::RequestRules* rules,
                                Call call) {
  runtime::FileRequest request;
  if (auto refusal = decode_into(call.body, runtime::file_action_fields(), *rules, request)) {
    co_return std::move(*refusal);
  }
  if (const auto complaint = runtime::check_file_action(request)) {
    co_return problem(400, *complaint);
  }
  auto found = target_of(services, call);
  if (auto* refusal = std::get_if<Response>(&found)) co_return std::move(*refusal);
  const auto& target = std::get<FileTarget>(found);
  auto work = [files = target.files, path = target.path, request]() -> jail::Result<Done> {
    if (request.make_directory) return entry_after(files, path, files.make_directory(path));
    if (const auto moved = files.move(path, request.move_to); !moved) return moved.error();
    return entry_after(files, request.move_to, false);
  };
  const auto done = co_await services.sandboxes->do_file_work(*target.sandbox, std::move(work));
  co_return answer_of(done);
}

}  // namespace

void add_sandbox_file_routes(RouteTable& table, const runtime::Services& services,
                             const runtime::RequestRules& rules) {
  using Versions = Route::Versions;
  table.add({"GET", "/v1/sandboxes/{id}/files/{path...}", Access::key, Cost::record,
             bound(read_file, services), QueryNames{"stat", "list", "depth"}, Versions::plain});
  table.add({"PUT",
             "/v1/sandboxes/{id}/files/{path...}",
             Access::key,
             Cost::record,
             bound(write_file, services),
             QueryNames{"mode"},
             Versions::plain,
             {},
             Route::Body::pieces});
  table.add({"DELETE", "/v1/sandboxes/{id}/files/{path...}", Access::key, Cost::record,
             bound(remove_file, services), QueryNames{"recursive"}, Versions::plain});
  table.add({"POST", "/v1/sandboxes/{id}/files/{path...}", Access::key, Cost::record,
             bound(change_file, services, &rules), QueryNames(), Versions::plain});
}

}  // namespace server
