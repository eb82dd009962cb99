// Files of named sandboxes: list, upload by a form, download, delete.
#include <sys/stat.h>

#include <algorithm>
#include <array>
#include <memory>
#include <optional>
#include <utility>
#include <variant>

#include "runtime/json/writer.h"
#include "server/api/kubernetes_style/envelope.h"
#include "server/api/kubernetes_style/queries.h"
#include "server/api/kubernetes_style/table.h"
#include "server/api/query.h"
#include "server/api/route_groups.h"
#include "server/api/sandbox_target.h"
#include "server/http/file_answer.h"
#include "server/http/form_reader.h"

namespace server::kubernetes_style {
namespace {

using boost::asio::awaitable;
using runtime::FileEntry;
using runtime::Sandboxes;
using runtime::SandboxFiles;
using runtime::json::Writer;

constexpr std::size_t piece_bytes = 64u << 10;
constexpr std::uint64_t max_upload_bytes = 100u << 20;
constexpr std::size_t max_file_name_bytes = 255;

Response response_of_file(const jail::Error& error, const runtime::Sandbox& sandbox) {
  return problem(Sandboxes::refusal_of_file(error, sandbox));
}

std::string last_segment(std::string_view path) {
  return std::string(path.substr(path.rfind('/') + 1));
}

void write_entry(Writer& writer, const FileEntry& entry) {
  writer.begin_object().key("name").string(last_segment(entry.path));
  writer.key("path").string(entry.path);
  writer.key("isDir").boolean(entry.type == FileEntry::Type::directory);
  writer.key("size").integer(static_cast<std::int64_t>(entry.size)).end_object();
}

awaitable<Response> list_named_files(runtime::Services services, SandboxTarget target, Call call) {
  PathQuery query{.path = "/workspace"};
  if (auto refusal = read_query(call.query, directory_query_fields(), query))
    co_return std::move(*refusal);
  auto work = [files = target.sandbox->files(), path = query.path]() -> jail::Result<std::string> {
    const auto list = files.list(path, 1);
    if (!list) return list.error();
    Writer writer;
    writer.begin_object().key("path").string(path).key("entries").begin_array();
    for (const FileEntry& entry : list->entries) write_entry(writer, entry);
    writer.end_array().key("truncated").boolean(list->is_truncated).end_object();
    return std::move(writer).take();
  };
  const auto list = co_await services.sandboxes->do_file_work(*target.sandbox, std::move(work));
  if (!list) co_return response_of_file(list.error(), *target.sandbox);
  co_return enveloped(*list);
}

// Returns "attachment" with the last component of the path, as headers encode it (RFC 8187).
std::string disposition_of(const std::string& path) {
  constexpr std::string_view plain =
      "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789.-_";
  constexpr std::string_view digits = "0123456789ABCDEF";
  std::string text = "attachment; filename*=UTF-8''";
  for (const char letter : runtime::json::repair_utf8(last_segment(path))) {
    if (plain.find(letter) != plain.npos) {
      text += letter;
      continue;
    }
    const auto byte = static_cast<unsigned char>(letter);
    text += '%';
    text += digits[byte >> 4];
    text += digits[byte & 15];
  }
  return text;
}

awaitable<Response> download_file(runtime::Services services, SandboxTarget target, Call call) {
  PathQuery query;
  if (auto refusal = read_query(call.query, file_query_fields(), query))
    co_return std::move(*refusal);
  const std::string& path = query.path;
  auto open = [files = target.sandbox->files(), path] { return files.open_to_read(path); };
  auto file = co_await services.sandboxes->do_file_work(*target.sandbox, std::move(open));
  if (!file) co_return response_of_file(file.error(), *target.sandbox);
  FileAnswer answer;
  answer.file = std::move(*file);
  answer.content_type = "application/octet-stream";
  answer.headers.push_back({"Content-Disposition", disposition_of(path)});
  answer.cancel = target.sandbox->living()->over();
  if (call.head.method == "GET") {
    services.sandboxes->note_file(caller_of(call), *target.sandbox,
                                  runtime::SandboxEventKind::file_read, path);
  }
  co_return co_await send_file(std::move(call.head), *call.stream, std::move(answer));
}

awaitable<Response> delete_file(runtime::Services services, SandboxTarget target, Call call) {
  PathQuery query;
  if (auto refusal = read_query(call.query, removal_query_fields(), query))
    co_return std::move(*refusal);
  const std::string& path = query.path;
  auto work = [files = target.sandbox->files(), query] {
    return files.remove(query.path, query.is_recursive);
  };
  const auto removed = co_await services.sandboxes->do_file_work(*target.sandbox, std::move(work));
  if (!removed) co_return response_of_file(removed.error(), *target.sandbox);
  services.sandboxes->note_file(caller_of(call), *target.sandbox,
                                runtime::SandboxEventKind::file_removed, path);
  co_return enveloped_text("File " + path + " deleted successfully");
}

// Returns the name of a client's file without directories. Empty: it has no name that a file can
// have.
std::string file_name_of(const FormReader::Part& part) {
  std::string name = part.filename.value_or("");
  name.erase(0, name.find_last_of("/\\") + 1);
  const bool is_fine = name != "." && name != ".." && name.size() <= max_file_name_bytes &&
                       name.find('\0') == name.npos;
  return is_fine ? name : std::string();
}

// Returns the path for a file of this name: in the directory `path`, where that is a directory or
// ends with a slash; else `path` itself.
std::string destination(const SandboxFiles& files, std::string path, const std::string& name) {
  if (path.ends_with('/')) return path + name;
  return files.open_directory(path) ? path + "/" + name : path;
}

// One upload, from the head of its part to the end of the form.
class Upload {
 public:
  Upload(Sandboxes& sandboxes, const SandboxTarget& target, FormReader& form)
      : sandboxes_(sandboxes), target_(target), form_(form), files_(target.sandbox->files()) {}

  // Makes the file `path`, or one in the directory `path`. A refusal leaves nothing behind.
  awaitable<std::optional<Response>> receive(std::string path) {
    const auto part = co_await form_.next();
    if (!part) co_return form_.refusal() ? *form_.refusal() : no_file();
    const std::string name = file_name_of(*part);
    if (part->name != "file" || !part->filename) co_return no_file();
    if (name.empty())
      co_return problem(RefusalCode::bad_request, "file: expected a filename of 1 .. 255 bytes");
    auto create = [this, &path, &name]() -> jail::Result<SandboxFiles::NewFile> {
      path_ = destination(files_, path, name);
      return files_.create(path_, std::nullopt);
    };
    auto file = co_await sandboxes_.do_file_work(*target_.sandbox, std::move(create));
    if (!file) co_return response_of_file(file.error(), *target_.sandbox);
    auto refusal = co_await take_bytes(*file);
    if (refusal) co_return refusal;
    const auto other = co_await form_.next();
    if (form_.refusal()) co_return *form_.refusal();
    if (other)
      co_return problem(RefusalCode::bad_request,
                        "file: expected one file and nothing else in the form");
    // The file is not used here again.
    auto commit = [file = &*file] { return file->commit(); };
    const auto committed = co_await sandboxes_.do_file_work(*target_.sandbox, std::move(commit));
    if (!committed) co_return response_of_file(committed.error(), *target_.sandbox);
    co_return std::nullopt;
  }

  const std::string& path() const { return path_; }
  std::uint64_t size() const { return size_; }

 private:
  static Response no_file() {
    return problem(RefusalCode::bad_request,
                   "file: expected a form with one part of that name, which is a file");
  }

  awaitable<std::optional<Response>> take_bytes(SandboxFiles::NewFile& file) {
    const auto room = std::make_unique<std::array<char, piece_bytes>>();
    for (;;) {
      const std::size_t count = co_await form_.read(*room);
      if (count == 0) break;
      size_ += count;
      if (size_ > max_upload_bytes) {
        co_return problem({.code = RefusalCode::content_too_large,
                           .detail = "file: expected at most 104857600 bytes",
                           .limit = 104'857'600,
                           .remedy = "PUT /v1/sandboxes/{id}/files/{path} takes larger ones"});
      }
      if (target_.sandbox->living()->over().requested()) {
        co_return response_of_file({jail::ErrorKind::closed, "the sandbox has ended", 0, {}},
                                   *target_.sandbox);
      }
      if (const auto written = file.write({room->data(), count}); !written) {
        co_return response_of_file(written.error(), *target_.sandbox);
      }
    }
    if (form_.refusal()) co_return *form_.refusal();
    co_return std::nullopt;
  }

  Sandboxes& sandboxes_;
  const SandboxTarget& target_;
  FormReader& form_;
  const SandboxFiles files_;
  std::string path_;
  std::uint64_t size_ = 0;
};

awaitable<Response> upload_file(runtime::Services services, SandboxTarget target, Call call) {
  PathQuery query{.path = "/workspace/"};
  if (auto refusal = read_query(call.query, directory_query_fields(), query))
    co_return std::move(*refusal);
  const auto boundary = form_boundary(call.head.header("Content-Type").value_or(""));
  if (!boundary) {
    co_return problem(RefusalCode::unsupported_media_type,
                      "Content-Type: expected multipart/form-data with a boundary");
  }
  FormReader form(*call.pieces, *boundary);
  Upload upload(*services.sandboxes, target, form);
  auto refusal = co_await upload.receive(std::move(query.path));
  if (refusal) co_return std::move(*refusal);
  services.sandboxes->note_file(caller_of(call), *target.sandbox,
                                runtime::SandboxEventKind::file_written, upload.path());
  Writer writer;
  writer.begin_object().key("name").string(last_segment(upload.path()));
  writer.key("path").string(upload.path());
  writer.key("size").integer(static_cast<std::int64_t>(upload.size())).end_object();
  co_return enveloped(std::move(writer));
}

}  // namespace

void add_file_routes(const RouteParts& parts) {
  using Versions = Route::Versions;
  Table table(parts.table);
  table.add({"GET", "/api/v1/sandbox/files/{id}", Access::key(Scope::read), Cost::record,
             for_target<active_sandbox>(parts.services, list_named_files),
             runtime::names_of(directory_query_fields()), Versions::plain});
  table.add({"DELETE", "/api/v1/sandbox/files/{id}", Access::key(Scope::sandboxes), Cost::record,
             for_target<active_sandbox>(parts.services, delete_file),
             runtime::names_of(removal_query_fields()), Versions::plain});
  table.add({"GET", "/api/v1/sandbox/files/{id}/download", Access::key(Scope::read), Cost::record,
             for_target<active_sandbox>(parts.services, download_file),
             runtime::names_of(file_query_fields()), Versions::plain});
  table.add({"POST", "/api/v1/sandbox/files/{id}/upload", Access::key(Scope::sandboxes),
             Cost::record, for_target<active_sandbox>(parts.services, upload_file),
             runtime::names_of(directory_query_fields()), Versions::plain, std::string_view(),
             Route::Body::form});
}

}  // namespace server::kubernetes_style
