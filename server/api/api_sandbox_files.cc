// The routes of files in living sandboxes.
#include <sys/stat.h>

#include <array>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <utility>
#include <variant>

#include "runtime/json/writer.h"
#include "runtime/living/tar_tree.h"
#include "runtime/living/tar_unpack.h"
#include "runtime/service/sandbox_json.h"
#include "runtime/service/sandbox_queries.h"
#include "server/api/decode.h"
#include "server/api/query.h"
#include "server/api/route_groups.h"
#include "server/api/sandbox_target.h"
#include "server/http/file_answer.h"
#include "server/http/file_conditions.h"

namespace server {
namespace {

using boost::asio::awaitable;
using runtime::FileEntry;
using runtime::Refusal;
using runtime::Sandboxes;
using runtime::SandboxFiles;

constexpr std::size_t piece_bytes = 64u << 10;
constexpr std::size_t tree_piece_bytes = 256u << 10;
constexpr std::string_view tar_type = "application/x-tar";

Response response_of_file(const jail::Error& error, const runtime::Sandbox& sandbox) {
  return problem(Sandboxes::refusal_of_file(error, sandbox));
}

Response answer_of(const FileEntry& entry, int status = 200) {
  runtime::json::Writer writer;
  runtime::write_file_entry(writer, entry);
  return json_answer(std::move(writer), status);
}

Response sandbox_ended() {
  return problem(
      Sandboxes::refusal_of_file({jail::ErrorKind::closed, "the sandbox has ended", 0, {}}));
}

// Answers with the entry and `status`, or with the refusal.
Response answer_of(const jail::Result<FileEntry>& entry, const runtime::Sandbox& sandbox,
                   int status) {
  return entry ? answer_of(*entry, status) : response_of_file(entry.error(), sandbox);
}

// The result of an operation, for the answer.
struct Done {
  FileEntry entry;
  bool is_new = false;
};

// The version of a file; without a value there is no such file.
struct Version {
  std::optional<std::string> etag;
};

// What became of a request that changes a file under conditions.
struct Changed {
  bool is_refused = false;
  Done done;
  Version version;
};

Response answer_of(const jail::Result<Done>& done, const runtime::Sandbox& sandbox) {
  if (!done) return response_of_file(done.error(), sandbox);
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
  if (!list) co_return response_of_file(list.error(), *target.sandbox);
  Response response;
  response.body = std::move(*list);
  co_return response;
}

using Verdict = FileConditions::Verdict;
using Use = FileConditions::Use;

// The version of the file; nullopt: there is none.
std::optional<std::string> version_of(const SandboxFiles& files, const std::string& path) {
  struct stat status {};
  const auto file = files.open_to_read(path);
  if (!file || ::fstat(file->get(), &status) != 0) return std::nullopt;
  return etag_of(status);
}

Response not_modified(std::string etag) {
  Response response;
  response.status = 304;
  response.headers.push_back({"ETag", std::move(etag)});
  return response;
}

// A signed URL is for the bytes of one file, whatever the headers say.
bool wants_tar(const Call& call) {
  return !call.principal.has_signed_url() &&
         call.head.header("Accept").value_or("").starts_with(tar_type);
}

// Sends the tree below a directory while it is read: a slow client takes one piece at a time.
awaitable<Response> read_tree(runtime::Services services, FileTarget target, Call call) {
  Sandboxes& sandboxes = *services.sandboxes;
  auto open = [files = target.files, path = target.path] { return files.open_directory(path); };
  auto directory = co_await sandboxes.do_file_work(*target.sandbox, std::move(open));
  if (!directory) co_return response_of_file(directory.error(), *target.sandbox);
  if (call.head.method == "GET") {
    sandboxes.note_file(caller_of(call), *target.sandbox, runtime::SandboxEventKind::file_read,
                        target.path);
  }
  const auto tree = std::make_shared<runtime::TarTree>(std::move(*directory));
  Response head;
  head.content_type = tar_type;
  head.headers.push_back({"Content-Disposition", "attachment"});
  const auto piece = std::make_shared<std::string>();
  for (bool has_more = true; has_more;) {
    piece->clear();
    auto read = [tree, piece] { return tree->read(*piece, tree_piece_bytes); };
    const auto is_read = co_await sandboxes.do_file_work(*target.sandbox, std::move(read));
    if (!is_read) {
      if (!call.stream->begun()) co_return response_of_file(is_read.error(), *target.sandbox);
      services.logger.warning("an archive broke off", {{"request_id", call.head.request_id},
                                                       {"error", is_read.error().message()}});
      co_return Response();
    }
    has_more = *is_read;
    if (!call.stream->begun()) call.stream->begin(head);
    const bool is_taken = co_await call.stream->write(*piece);
    if (!is_taken) co_return Response();
  }
  co_await call.stream->end();
  co_return Response();
}

awaitable<Response> read_file(runtime::Services services, FileTarget target, Call call) {
  runtime::FileReadQuery query;
  if (auto refusal = read_query(call.query, runtime::file_read_query_fields(), query)) {
    co_return std::move(*refusal);
  }
  if (const auto refusal = runtime::check_file_read(query)) co_return problem(*refusal);
  if (query.is_stat) {
    auto look = [files = target.files, path = target.path] { return files.stat(path); };
    const auto entry = co_await services.sandboxes->do_file_work(*target.sandbox, std::move(look));
    co_return answer_of(entry, *target.sandbox, 200);
  }
  if (query.is_tar || (!query.is_list && wants_tar(call))) {
    co_return co_await read_tree(services, std::move(target), std::move(call));
  }
  if (query.is_list) {
    const int depth = static_cast<int>(query.depth.value_or(1));
    co_return co_await list_files(*services.sandboxes, std::move(target), depth);
  }
  auto open = [files = target.files, path = target.path] { return files.open_to_read(path); };
  auto file = co_await services.sandboxes->do_file_work(*target.sandbox, std::move(open));
  if (!file) co_return response_of_file(file.error(), *target.sandbox);
  struct stat status {};
  ::fstat(file->get(), &status);
  FileAnswer answer;
  answer.file = std::move(*file);
  answer.content_type = "application/octet-stream";
  answer.etag = etag_of(status);
  const FileConditions conditions(call.head);
  const Verdict verdict = conditions.judge(answer.etag, Use::read);
  if (verdict == Verdict::not_modified) co_return not_modified(std::move(answer.etag));
  if (verdict == Verdict::failed) co_return FileConditions::refusal(answer.etag);
  answer.headers.push_back({"Content-Disposition", "attachment"});
  answer.cancel = target.sandbox->living()->over();
  if (call.head.method == "GET") {
    services.sandboxes->note_file(caller_of(call), *target.sandbox,
                                  runtime::SandboxEventKind::file_read, target.path);
  }
  co_return co_await send_file(std::move(call.head), *call.stream, std::move(answer));
}

// Unpacks an archive into a directory, which is made where it does not exist.
awaitable<Response> write_tree(runtime::Services services, FileTarget target, Call call) {
  Sandboxes& sandboxes = *services.sandboxes;
  bool is_new = false;
  auto open = [files = target.files, path = target.path, &is_new]() -> jail::Result<jail::Fd> {
    const auto made = files.make_directory(path);
    if (!made) return made.error();
    is_new = *made;
    return files.open_directory(path);
  };
  auto directory = co_await sandboxes.do_file_work(*target.sandbox, std::move(open));
  if (!directory) co_return response_of_file(directory.error(), *target.sandbox);
  // The write is noted even where an error follows.
  sandboxes.note_file(caller_of(call), *target.sandbox, runtime::SandboxEventKind::file_written,
                      target.path);
  runtime::TarUnpack unpack(std::move(*directory), target.files.room());
  const auto room = std::make_unique<std::array<char, piece_bytes>>();
  for (auto state = RequestBody::Piece::State::more; state == RequestBody::Piece::State::more;) {
    const auto piece = co_await call.pieces->read(*room);
    state = piece.state;
    if (state == RequestBody::Piece::State::failed) co_return call.pieces->refusal();
    auto write = [&unpack, bytes = std::string_view(room->data(), piece.size)] {
      return unpack.write(bytes);
    };
    const auto written = co_await sandboxes.do_file_work(*target.sandbox, std::move(write));
    if (!written) co_return response_of_file(written.error(), *target.sandbox);
  }
  if (const auto finished = unpack.finish(); !finished) {
    co_return response_of_file(finished.error(), *target.sandbox);
  }
  auto look = [files = target.files, path = target.path] { return files.stat(path); };
  const auto entry = co_await sandboxes.do_file_work(*target.sandbox, std::move(look));
  co_return answer_of(entry, *target.sandbox, is_new ? 201 : 200);
}

bool is_tar(const Call& call) {
  const std::string_view type = call.head.header("Content-Type").value_or("");
  return !call.principal.has_signed_url() &&
         equal_ignoring_case(type.substr(0, tar_type.size()), tar_type) &&
         (type.size() == tar_type.size() || type[tar_type.size()] == ';');
}

awaitable<Response> write_file(runtime::Services services, FileTarget target, Call call) {
  runtime::FileWriteQuery query;
  if (auto refusal = read_query(call.query, runtime::file_write_query_fields(), query)) {
    co_return std::move(*refusal);
  }
  const FileConditions conditions(call.head);
  if (is_tar(call)) {
    if (query.mode) co_return problem(RefusalCode::bad_request, "mode: an archive has its own");
    if (conditions.are_there()) {
      co_return problem(RefusalCode::bad_request,
                        "If-Match, If-None-Match: a directory has no version");
    }
    co_return co_await write_tree(services, std::move(target), std::move(call));
  }
  Sandboxes& sandboxes = *services.sandboxes;
  if (conditions.are_there()) {
    auto look = [files = target.files, path = target.path]() -> jail::Result<Version> {
      return Version{version_of(files, path)};
    };
    const auto version = co_await sandboxes.do_file_work(*target.sandbox, std::move(look));
    if (!version) co_return response_of_file(version.error(), *target.sandbox);
    if (conditions.judge(version->etag, Use::change) == Verdict::failed) {
      co_return FileConditions::refusal(version->etag);
    }
  }
  auto create = [files = target.files, path = target.path, mode = query.mode] {
    return files.create(path, mode);
  };
  auto file = co_await sandboxes.do_file_work(*target.sandbox, std::move(create));
  if (!file) co_return response_of_file(file.error(), *target.sandbox);
  const auto room = std::make_unique<std::array<char, piece_bytes>>();
  for (auto state = RequestBody::Piece::State::more; state == RequestBody::Piece::State::more;) {
    const auto piece = co_await call.pieces->read(*room);
    state = piece.state;
    if (state == RequestBody::Piece::State::failed) co_return call.pieces->refusal();
    if (target.sandbox->living()->over().requested()) co_return sandbox_ended();
    if (auto written = file->write({room->data(), piece.size}); !written) {
      co_return response_of_file(written.error(), *target.sandbox);
    }
  }
  // Neither is used here again.
  auto commit = [file = &*file, conditions = &conditions, sandbox = target.sandbox,
                 files = target.files, path = target.path]() -> jail::Result<Changed> {
    const std::lock_guard lock(sandbox->file_versions());
    // It may have changed since the request began.
    if (conditions->are_there()) {
      Version version{version_of(files, path)};
      if (conditions->judge(version.etag, Use::change) == Verdict::failed) {
        return Changed{.is_refused = true, .done = {}, .version = std::move(version)};
      }
    }
    auto done = entry_after(files, path, file->commit());
    if (!done) return done.error();
    return Changed{
        .is_refused = false, .done = std::move(*done), .version = {version_of(files, path)}};
  };
  const auto changed = co_await sandboxes.do_file_work(*target.sandbox, std::move(commit));
  if (!changed) co_return response_of_file(changed.error(), *target.sandbox);
  if (changed->is_refused) co_return FileConditions::refusal(changed->version.etag);
  sandboxes.note_file(caller_of(call), *target.sandbox, runtime::SandboxEventKind::file_written,
                      target.path);
  Response response = answer_of(changed->done.entry, changed->done.is_new ? 201 : 200);
  if (changed->version.etag) response.headers.push_back({"ETag", *changed->version.etag});
  co_return response;
}

awaitable<Response> remove_file(runtime::Services services, FileTarget target, Call call) {
  runtime::FileRemoveQuery query;
  if (auto refusal = read_query(call.query, runtime::file_remove_query_fields(), query)) {
    co_return std::move(*refusal);
  }
  auto work = [conditions = FileConditions(call.head), sandbox = target.sandbox,
               files = target.files, path = target.path,
               is_recursive = query.is_recursive]() -> jail::Result<Changed> {
    std::unique_lock<std::mutex> lock;
    if (conditions.are_there()) {
      lock = std::unique_lock(sandbox->file_versions());
      Version version{version_of(files, path)};
      if (conditions.judge(version.etag, Use::change) == Verdict::failed) {
        return Changed{.is_refused = true, .done = {}, .version = std::move(version)};
      }
    }
    if (const auto removed = files.remove(path, is_recursive); !removed) return removed.error();
    return Changed();
  };
  const auto removed = co_await services.sandboxes->do_file_work(*target.sandbox, std::move(work));
  if (!removed) co_return response_of_file(removed.error(), *target.sandbox);
  if (removed->is_refused) co_return FileConditions::refusal(removed->version.etag);
  services.sandboxes->note_file(caller_of(call), *target.sandbox,
                                runtime::SandboxEventKind::file_removed, target.path);
  co_return no_content();
}

awaitable<Response> change_file(runtime::Services services, const runtime::RequestRules* rules,
                                FileTarget target, Call call) {
  runtime::FileRequest request;
  if (auto refusal = decode_into(call.body, runtime::file_action_fields(), *rules, request)) {
    co_return std::move(*refusal);
  }
  if (const auto refusal = runtime::check_file_action(request)) {
    co_return problem(*refusal);
  }
  auto work = [files = target.files, path = target.path, request]() -> jail::Result<Done> {
    if (request.make_directory) return entry_after(files, path, files.make_directory(path));
    if (const auto moved = files.move(path, request.move_to); !moved) return moved.error();
    return entry_after(files, request.move_to, false);
  };
  const auto done = co_await services.sandboxes->do_file_work(*target.sandbox, std::move(work));
  if (done) {
    using Kind = runtime::SandboxEventKind;
    const Kind kind = request.make_directory ? Kind::directory_made : Kind::file_moved;
    services.sandboxes->note_file(caller_of(call), *target.sandbox, kind, target.path,
                                  request.move_to);
  }
  co_return answer_of(done, *target.sandbox);
}

}  // namespace

void add_sandbox_file_routes(const RouteParts& parts) {
  using Versions = Route::Versions;
  parts.table.add({"GET", "/v1/sandboxes/{id}/files/{path...}", Access::key_or_url(Scope::read),
                   Cost::record, for_target<file_target>(parts.services, read_file),
                   runtime::names_of(runtime::file_read_query_fields()), Versions::plain});
  parts.table.add({"PUT",
                   "/v1/sandboxes/{id}/files/{path...}",
                   Access::key_or_url(Scope::sandboxes),
                   Cost::record,
                   for_target<file_target>(parts.services, write_file),
                   runtime::names_of(runtime::file_write_query_fields()),
                   Versions::plain,
                   {},
                   Route::Body::pieces});
  parts.table.add({"DELETE", "/v1/sandboxes/{id}/files/{path...}", Access::key(Scope::sandboxes),
                   Cost::record, for_target<file_target>(parts.services, remove_file),
                   runtime::names_of(runtime::file_remove_query_fields()), Versions::plain});
  parts.table.add({"POST", "/v1/sandboxes/{id}/files/{path...}", Access::key(Scope::sandboxes),
                   Cost::record, for_target<file_target>(parts.services, change_file, &parts.rules),
                   QueryNames(), Versions::plain});
}

}  // namespace server
