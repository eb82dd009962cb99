#include "runtime/sandbox/program_root.h"

#include <fcntl.h>
#include <linux/openat2.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <filesystem>

#include "jail/fd.h"
#include "runtime/config/text_file.h"
#include "runtime/json/reader.h"
#include "runtime/sandbox/language.h"

namespace runtime {
namespace {

using jail::Error;
using jail::ErrorKind;
using jail::Result;

constexpr const char* manifest_name = "/manifest.json";
constexpr std::size_t max_manifest_bytes = 1u << 20;

std::string_view last_part(std::string_view path) { return path.substr(path.rfind('/') + 1); }

// Returns whether guests cannot see the program. Where the host's own root is shown, a guest would
// open the path that the descriptor has.
bool is_hidden(const jail::Fd& program, const jail::Root& view) {
  std::error_code error;
  const std::string path =
      std::filesystem::read_symlink("/proc/self/fd/" + std::to_string(program.get()), error)
          .string();
  return std::any_of(view.hidden.begin(), view.hidden.end(),
                     [&](const std::string& hidden) { return path.starts_with(hidden + "/"); });
}

// Looks the program up as a guest on that root would: links are resolved inside of the root.
bool has_program(const ProgramRoot& root, std::string_view path) {
  const jail::Fd tree(::open(root.directory.c_str(), O_PATH | O_DIRECTORY | O_CLOEXEC));
  open_how how{};
  how.flags = O_PATH | O_CLOEXEC;
  how.resolve = RESOLVE_IN_ROOT | RESOLVE_NO_MAGICLINKS;
  const std::string name(path);
  const jail::Fd program(
      static_cast<int>(::syscall(SYS_openat2, tree.get(), name.c_str(), &how, sizeof how)));
  struct stat status {};
  return program.valid() && ::fstat(program.get(), &status) == 0 && S_ISREG(status.st_mode) &&
         (status.st_mode & S_IXOTH) != 0 && !is_hidden(program, *root.view);
}

// For a message that `path` is missing: names a program that might be mistaken for it.
std::string what_is_hidden(const ProgramRoot& root, std::string_view path) {
  for (const std::string& hidden : root.view->hidden) {
    const std::string there = hidden + "/bin/" + std::string(last_part(path));
    if (::access(there.c_str(), X_OK) == 0) {
      return " (" + there + " is not shown to programs: no package brought it)";
    }
  }
  return {};
}

void find_programs(ProgramRoot& root) {
  for (const Language language : all_languages) {
    for (const std::string_view path : programs_of(language)) {
      if (has_program(root, path)) root.versions.emplace(last_part(path), "");
    }
  }
}

// The manifest must be a regular file of the tree: a link could lead to a file of the host, and a
// pipe would block.
Result<std::string> manifest_text(const std::string& path) {
  const jail::Fd file(::open(path.c_str(), O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC));
  struct stat status {};
  if (!file.valid() || ::fstat(file.get(), &status) != 0) {
    return Error{ErrorKind::refused, "open " + path, errno, {}};
  }
  if (!S_ISREG(status.st_mode)) {
    return Error{ErrorKind::refused, path + ": not a regular file", 0, {}};
  }
  return read_text(file.get(), path, max_manifest_bytes);
}

// Whether a manifest, of which nothing else is wanted, has its languages and was written to its
// end. A parser of JSON is a library that takes longer to load than a program's jail to make.
bool looks_whole(std::string_view manifest) {
  constexpr std::string_view blanks = " \t\r\n";
  constexpr std::string_view key = "\"languages\"";
  const auto skip_blanks = [&](std::size_t at) { return manifest.find_first_not_of(blanks, at); };
  const std::size_t last = manifest.find_last_not_of(blanks);
  const std::size_t found = manifest.find(key);
  if (found == manifest.npos || manifest[last] != '}') return false;
  const std::size_t colon = skip_blanks(found + key.size());
  if (colon == manifest.npos || manifest[colon] != ':') return false;
  const std::size_t value = skip_blanks(colon + 1);
  return value != manifest.npos && manifest[value] == '{';
}

Error without_languages(const std::string& path) {
  return {ErrorKind::invalid, path + ": has no languages", 0, {}};
}

// Reads what rootfs/build wrote down. A guest's safety does not depend on any of it.
Result<void> read_manifest(ProgramRoot& root, Versions versions) {
  const std::string path = root.directory + manifest_name;
  const auto text = manifest_text(path);
  if (!text) return text.error();
  if (versions == Versions::unread) {
    if (!looks_whole(*text)) return without_languages(path);
    return {};
  }
  const auto value = json::parse(*text, path);
  if (!value) return value.error();
  const auto* object = value->as_object();
  const auto member =
      object == nullptr ? json::Object::const_iterator{} : object->find("languages");
  if (object == nullptr || member == object->end() || member->second.as_object() == nullptr) {
    return without_languages(path);
  }
  for (const auto& [key, version] : *member->second.as_object()) {
    // The version of the bash package, without its revision.
    const std::string* words = version.as_string();
    const auto known = root.versions.find(key == "python" ? "python3" : key);
    if (words != nullptr && known != root.versions.end()) {
      known->second = words->substr(0, words->find('-'));
    }
  }
  return {};
}

Result<ProgramRoot> open_built(const std::string& path) {
  auto view = jail::directory_root(path);
  if (!view) return view.error();
  std::error_code error;
  ProgramRoot root;
  root.kind = ProgramRoot::Kind::built;
  root.directory = std::filesystem::canonical(path, error).string();
  if (error) return Error{ErrorKind::refused, "use " + path + " as a root", error.value(), {}};
  root.view = std::make_shared<const jail::Root>(std::move(*view));
  find_programs(root);
  return root;
}

ProgramRoot open_host() {
  ProgramRoot root;
  root.view = std::make_shared<const jail::Root>(jail::host_root());
  find_programs(root);
  // Debian's python3 is a link that names the version; other programs tell theirs only when they
  // run.
  std::error_code error;
  const std::string target = std::filesystem::read_symlink("/usr/bin/python3", error).string();
  const auto python = root.versions.find("python3");
  if (!error && python != root.versions.end() && target.starts_with("python3.")) {
    python->second = target.substr(6);
  }
  return root;
}

// The first program that `language` needs and this root lacks.
std::optional<std::string_view> lacking(Language language, const ProgramRoot& root) {
  for (const std::string_view path : programs_of(language)) {
    if (!root.versions.contains(last_part(path))) return path;
  }
  return std::nullopt;
}

Result<ProgramRoot> with_python(ProgramRoot root) {
  const std::string python(programs_of(Language::python).front());
  if (!root.versions.contains("python3")) {
    return Error{
        ErrorKind::refused,
        "use " + root.directory + " as a root: it has no " + python + what_is_hidden(root, python),
        0, "install the package python3, or build a root: " + root_builder()};
  }
  return root;
}

}  // namespace

std::string root_builder() {
  const char* const installed = "/usr/share/agent-sandbox/rootfs/build";
  return ::access(installed, X_OK) == 0 ? installed : "./dev rootfs";
}

std::vector<std::string> default_root_places(const Environment& environment) {
  std::vector<std::string> places;
  const auto cache = environment.find("XDG_CACHE_HOME");
  const auto home = environment.find("HOME");
  // Relative paths must be ignored, by the XDG base directory specification.
  if (cache != environment.end() && cache->second.starts_with('/')) {
    places.push_back(cache->second + "/agent-sandbox/root");
  } else if (home != environment.end() && home->second.starts_with('/')) {
    places.push_back(home->second + "/.cache/agent-sandbox/root");
  }
  places.emplace_back("/var/lib/agent-sandbox/root");
  return places;
}

Result<ProgramRoot> find_program_root(const std::string& configured,
                                      const std::vector<std::string>& places, Versions versions) {
  if (configured == "host") return with_python(open_host());
  if (!configured.empty()) {
    auto root = open_built(configured);
    if (!root) return root.error();
    // A tree that was made in another way has no manifest, but it must have a python.
    struct stat status {};
    if (::lstat((root->directory + manifest_name).c_str(), &status) == 0) {
      if (auto read = read_manifest(*root, versions); !read) return read.error();
    }
    return with_python(std::move(*root));
  }
  for (const std::string& place : places) {
    auto root = open_built(place);
    if (root && read_manifest(*root, versions)) return with_python(std::move(*root));
  }
  return with_python(open_host());
}

std::optional<std::string> why_not_available(Language language, const ProgramRoot& root) {
  const auto path = lacking(language, root);
  if (!path) return std::nullopt;
  std::string available;
  for (const Language other : all_languages) {
    if (lacking(other, root)) continue;
    available += (available.empty() ? "" : ", ") + std::string(name_of(other));
  }
  return std::string(name_of(language)) + " is not available here: this root has no " +
         std::string(*path) + what_is_hidden(root, *path) + "; available are " + available;
}

std::string describe(const ProgramRoot& root) {
  std::string text =
      root.kind == ProgramRoot::Kind::built ? "built root " + root.directory : "the host's /usr";
  std::string separator = ": ";
  for (const Language language : all_languages) {
    if (lacking(language, root)) continue;
    const auto version = root.versions.find(last_part(programs_of(language).front()));
    text += separator + std::string(name_of(language));
    if (!version->second.empty()) text += " " + version->second;
    separator = ", ";
  }
  return text;
}

}  // namespace runtime
