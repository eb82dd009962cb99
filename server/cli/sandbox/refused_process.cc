#include "server/cli/sandbox/refused_process.h"

#include <algorithm>

#include "runtime/json/members.h"
#include "runtime/json/reader.h"
#include "server/cli/exit_codes.h"
#include "server/cli/sandbox/json_text.h"

namespace server::client {
namespace {

namespace json = runtime::json;

constexpr std::size_t tail_bytes = 4096;

struct RefusedLimit {
  std::string_view words;
  std::string_view limit;
  std::string_view before;
  std::string_view after;
};

constexpr std::string_view refused_process =
    "the command seems to have been refused a process or thread: the sandbox may have ";
constexpr std::string_view more_processes = " at once; sandbox resize --processes gives more";
constexpr std::string_view refused_space =
    "the command seems to have been refused space: what the sandbox may have on a disk is ";
constexpr std::string_view more_space = " MB; sandbox resize --disk gives more";

constexpr RefusedLimit refused_limits[] = {
    {"Resource temporarily unavailable", "processes", refused_process, more_processes},
    {"can't start new thread", "processes", refused_process, more_processes},
    {"No space left on device", "disk_mb", refused_space, more_space},
    {"File size limit exceeded", "disk_mb", refused_space, more_space},
    {"File too large", "disk_mb", refused_space, more_space}};

}  // namespace

void Tail::add(std::string_view bytes) {
  text_ += bytes.substr(bytes.size() - std::min(bytes.size(), tail_bytes));
  if (text_.size() > tail_bytes) text_.erase(0, text_.size() - tail_bytes);
}

void tell_refused(ServerClient& client, const std::string& id, std::string_view error_tail) {
  const RefusedLimit* const row = std::ranges::find_if(
      refused_limits,
      [&](const RefusedLimit& each) { return error_tail.find(each.words) != error_tail.npos; });
  if (row == std::end(refused_limits)) return;
  const auto answer = client.get(sandbox_path(id));
  const auto sandbox = answer ? json::parse(*answer, "answer") : answer.error();
  const json::Value* const limits = sandbox ? json::member(*sandbox, "limits") : nullptr;
  if (limits == nullptr) return;
  server::fail(0, std::string(row->before) + shown(*limits, row->limit) + std::string(row->after));
}

}  // namespace server::client
