#include "server/cli/sandbox/copy_tree.h"

#include <sys/stat.h>

#include <algorithm>
#include <cerrno>
#include <filesystem>
#include <utility>
#include <vector>

#include "runtime/json/members.h"
#include "runtime/json/reader.h"
#include "server/cli/exit_codes.h"
#include "server/cli/sandbox/copy_file.h"

namespace server::client {
namespace {

namespace json = runtime::json;

// The command line names the directory alone, and some of it may have been copied already.
jail::Error while_copying(jail::Error error) {
  return is_unusable(error) ? failed(error.doing, error.sys_errno) : error;
}

struct NamedEntry {
  std::string name;
  InsideEntry entry;
};

std::string below(const std::string& directory, const std::string& name) {
  return directory + (directory.ends_with('/') ? "" : "/") + name;
}

std::size_t leave_out(const std::string& path) {
  server::fail(0, path + " is neither a file nor a directory and was left out");
  return 1;
}

// Names come out of the sandbox: none may lead elsewhere.
bool is_plain_name(const std::string& name) {
  return !name.empty() && name != "." && name != ".." && name.find('/') == name.npos &&
         name.find('\0') == name.npos;
}

jail::Result<std::vector<NamedEntry>> list_inside(ServerClient& client, const std::string& id,
                                                  const std::string& path) {
  const auto answer = client.get(file_path(id, path) + "?list=true");
  if (!answer) return answer.error();
  const auto value = json::parse(*answer, "answer");
  if (!value) return value.error();
  const json::Value* const truncated = json::member(*value, "truncated");
  if (truncated != nullptr && truncated->as_bool() != nullptr && *truncated->as_bool()) {
    return jail::Error{
        jail::ErrorKind::refused, path + " has more files than the server lists", 0, {}};
  }
  const json::Value* const entries = json::member(*value, "entries");
  std::vector<NamedEntry> list;
  if (entries == nullptr || entries->as_array() == nullptr) return list;
  for (const json::Value& entry : *entries->as_array()) {
    list.push_back({json::text_member(&entry, "name"), inside_entry(entry)});
    if (is_plain_name(list.back().name)) continue;
    return jail::Error{jail::ErrorKind::closed, "the server names a file that is none", 0, {}};
  }
  return list;
}

// Its entries in the order of their names; links are not followed.
jail::Result<std::vector<std::filesystem::directory_entry>> list_outside(const std::string& path) {
  std::error_code error;
  std::vector<std::filesystem::directory_entry> list;
  std::filesystem::directory_iterator next(path, error);
  for (; !error && next != std::filesystem::directory_iterator(); next.increment(error)) {
    list.push_back(*next);
  }
  if (error) return failed("read " + path, error.value());
  std::sort(list.begin(), list.end());
  return list;
}

}  // namespace

jail::Result<std::size_t> copy_tree_out(ServerClient& client, const std::string& id,
                                        const std::string& inside, const std::string& outside) {
  const auto entries = list_inside(client, id, inside);
  if (!entries) return entries.error();
  if (::mkdir(outside.c_str(), 0777) != 0 && errno != EEXIST) {
    return failed("make the directory " + outside, errno);
  }
  std::size_t left_out = 0;
  for (const auto& [name, entry] : *entries) {
    const std::string from = below(inside, name);
    const std::string into = below(outside, name);
    if (entry.type == "directory") {
      const auto copied = copy_tree_out(client, id, from, into);
      if (!copied) return copied;
      left_out += *copied;
    } else if (entry.type == "file") {
      if (auto copied = copy_file_out(client, id, from, into, entry.mode); !copied) {
        return while_copying(std::move(copied).error());
      }
    } else {
      left_out += leave_out(from);
    }
  }
  return left_out;
}

jail::Result<std::size_t> copy_tree_in(ServerClient& client, const std::string& id,
                                       const std::string& outside, const std::string& inside) {
  const auto entries = list_outside(outside);
  if (!entries) return entries.error();
  const auto made = client.ask(
      {.method = "POST", .path = file_path(id, inside), .body = R"({"make_directory":true})"});
  if (!made) return made.error();
  std::size_t left_out = 0;
  for (const auto& entry : *entries) {
    const std::string from = entry.path().string();
    const std::string into = below(inside, entry.path().filename().string());
    std::error_code error;
    const auto type = entry.symlink_status(error).type();
    if (error) return failed("read " + from, error.value());
    if (type == std::filesystem::file_type::directory) {
      const auto copied = copy_tree_in(client, id, from, into);
      if (!copied) return copied;
      left_out += *copied;
    } else if (type == std::filesystem::file_type::regular) {
      if (auto copied = copy_file_in(client, id, from, into); !copied) {
        return while_copying(std::move(copied).error());
      }
    } else {
      left_out += leave_out(from);
    }
  }
  return left_out;
}

}  // namespace server::client
