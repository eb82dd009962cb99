#include "server/api/encode.h"

#include <cmath>
#include <string_view>

#include "runtime/json/writer.h"
#include "runtime/service/result_json.h"

namespace server {
namespace {

using runtime::json::Writer;

// Writes the versions by program; null for a program whose version is unknown, and nothing for a
// program that does not exist.
void write_root(Writer& writer, const runtime::ProgramRoot& root) {
  writer.key("root").begin_object();
  writer.key("kind").string(root.kind == runtime::ProgramRoot::Kind::built ? "built" : "host");
  for (const auto& [program, version] : root.versions) {
    writer.key(program == "python3" ? "python" : program);
    version.empty() ? writer.null() : writer.string(version);
  }
  writer.end_object();
}

// The last line of an interpreter's output is the error; those above it, with lines and paths of a
// template's code, are for the log alone.
std::string_view last_line(std::string_view text) {
  const std::size_t end = text.find_last_not_of("\r\n");
  if (end == std::string_view::npos) return {};
  text = text.substr(0, end + 1);
  const std::size_t before = text.find_last_of('\n');
  return before == std::string_view::npos ? text : text.substr(before + 1);
}

// Writes the pools by template.
void write_pools(Writer& writer, const std::vector<runtime::PoolReport>& pools) {
  writer.key("pools").begin_object();
  for (const runtime::PoolReport& pool : pools) {
    writer.key(pool.name).begin_object();
    writer.key("warm").integer(pool.state.ready).key("leased").integer(pool.state.leased);
    writer.key("refilling").integer(pool.state.refilling);
    writer.key("target").integer(pool.state.target);
    writer.key("zygotes").integer(static_cast<std::int64_t>(pool.state.zygotes));
    writer.key("misses").integer(static_cast<std::int64_t>(pool.state.misses));
    if (!pool.state.trouble.empty()) writer.key("trouble").string(last_line(pool.state.trouble));
    writer.end_object();
  }
  writer.end_object();
}

}  // namespace

std::string encode_health(std::string_view status, const std::optional<HealthDetails>& details) {
  Writer writer;
  writer.begin_object().key("status").string(status);
  if (details) {
    writer.key("version").string(details->version);
    writer.key("uptime_seconds").number(std::round(details->uptime.count() * 1000) / 1000);
    write_pools(writer, details->runner.pools);
    writer.key("runs").begin_object();
    writer.key("running").integer(details->runner.running);
    writer.key("queued").integer(details->runner.queued);
    writer.key("total").integer(static_cast<std::int64_t>(details->runner.total)).end_object();
    runtime::write_limits(writer, details->runner.enforcement);
    writer.key("users").string(details->runner.has_own_users ? "own" : "shared");
    writer.key("landlock").integer(details->runner.landlock);
    write_root(writer, details->root);
  }
  writer.end_object();
  return std::move(writer).take();
}

}  // namespace server
