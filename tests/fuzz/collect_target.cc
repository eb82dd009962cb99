// What is collected from a directory that a guest made as it liked: files of the directory alone,
// as they are, each one that was asked for or the reason why not, within bounds and without
// waiting.
#include <fcntl.h>
#include <fnmatch.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <set>
#include <string>
#include <vector>

#include "jail/collect.h"
#include "tests/fuzz/fuzz.h"
#include "tests/fuzz/guest_tree.h"

namespace fuzz {
namespace {

using jail::Collection;
using jail::SkipReason;
using Path = std::vector<std::string>;

// Contains a line end, which no file of an input can contain.
constexpr std::string_view secret = "what stands\noutside";

Path split(std::string_view text) {
  Path components;
  for (;;) {
    const std::size_t slash = text.find('/');
    components.emplace_back(text.substr(0, slash));
    if (slash == text.npos) return components;
    text.remove_prefix(slash + 1);
  }
}

// Matches globs as their documentation says, from the last component to the first: `below[i]` tells
// whether the components from `i` on name what is below the current part of the path.
bool names(const Path& glob, const Path& path) {
  std::vector<bool> below(glob.size() + 1);
  below.back() = true;
  for (std::size_t at = path.size(); at-- > 0;) {
    const std::string& name = path[at];
    std::vector<bool> here(glob.size() + 1);
    for (std::size_t i = glob.size(); i-- > 0;) {
      const bool last = i + 1 == glob.size();
      if (glob[i] == "**") {
        const bool more = below[i] || (last && below.back());
        here[i] = (!last && here[i + 1]) || (!name.starts_with('.') && more);
      } else {
        const int flags = FNM_PERIOD | FNM_NOESCAPE;
        here[i] = below[i + 1] && ::fnmatch(glob[i].c_str(), name.c_str(), flags) == 0;
      }
    }
    below = std::move(here);
  }
  return below.front();
}

class Checked {
 public:
  Checked(const GuestTree& tree, Collection collection)
      : tree_(tree), collection_(std::move(collection)) {
    for (const std::string& glob : tree.globs()) {
      if (jail::check_glob(glob)) globs_.push_back(split(glob));
    }
  }

  void run() {
    check_bounds();
    for (const auto& file : collection_.files) check_file(file);
    for (const auto& skip : collection_.skipped) check_skip(skip);
    for (const auto& [path, node] : tree_.nodes()) check_path(path, *node);
  }

 private:
  bool is_asked_for(const std::string& path) const {
    const Path components = split(path);
    return std::any_of(globs_.begin(), globs_.end(),
                       [&](const Path& glob) { return names(glob, components); });
  }

  const Node& node_at(const std::string& path) const {
    const auto node = tree_.nodes().find(path);
    require(node != tree_.nodes().end(), "a path that is not in the tree");
    return *node->second;
  }

  void check_bounds() const {
    const jail::CollectLimits& limits = tree_.limits();
    std::uint64_t bytes = 0;
    for (const auto& file : collection_.files) bytes += file.content.size();
    require(bytes <= limits.total_bytes, "more bytes than the limit");
    require(collection_.files.size() <= limits.files, "more files than the limit");
    require(collection_.skipped.size() <= limits.listed_skips, "more skips than the limit");
    require(collection_.skipped_total >= collection_.skipped.size(), "skips that are not counted");
    const auto in_order = [](const auto& a, const auto& b) {
      return split(a.path) < split(b.path);
    };
    require(std::adjacent_find(collection_.files.begin(), collection_.files.end(),
                               [&](const auto& a, const auto& b) { return !in_order(a, b); }) ==
                collection_.files.end(),
            "files out of order, or one of them twice");
  }

  void check_file(const jail::CollectedFile& file) const {
    require(file.content.find(secret) == file.content.npos, "a file from outside");
    const Node& node = node_at(file.path);
    require(node.kind == Kind::file && node.links == 1, "what is no file of its own");
    require(file.content.size() == node.size, "a file of another size");
    require(file.content.starts_with(node.content), "a file with another content");
    require(file.content.size() <= tree_.limits().file_bytes, "a file above the limit");
    require(split(file.path).size() <= tree_.limits().depth + 1, "a file below the limit of depth");
    require(is_asked_for(file.path), "a file that nobody asked for");
  }

  void check_skip(const jail::SkippedFile& skip) {
    skipped_.insert(skip.path);
    const Node& node = skip.path == "." ? root_ : node_at(skip.path);
    const bool is_directory = node.kind == Kind::directory;
    switch (skip.reason) {
      case SkipReason::not_regular:
        return require(node.kind != Kind::file && !is_directory, "a file is said to be none");
      case SkipReason::several_links:
        return require(node.links > 1, "a file is said to have several links");
      case SkipReason::too_large:
        return require(node.size > tree_.limits().file_bytes, "a file is said to be too large");
      case SkipReason::total_too_large:
      case SkipReason::too_many:
        return require(node.kind == Kind::file, "what is no file is one too many");
      case SkipReason::too_deep:
      case SkipReason::too_many_entries:
        return require(is_directory, "what is no directory is too deep or too full");
      case SkipReason::permission:
      case SkipReason::unreadable:
        found("what everybody may read is said to be unreadable");
    }
  }

  // Every requested file is there, or the list says why not, for the file itself or a directory
  // above it.
  void check_path(const std::string& path, const Node& node) const {
    const bool listed_all = collection_.skipped_total == collection_.skipped.size();
    if (!listed_all || node.kind == Kind::directory || !is_asked_for(path)) return;
    for (const auto& file : collection_.files) {
      if (file.path == path) return;
    }
    if (skipped_.contains(path) || skipped_.contains(".")) return;
    for (std::size_t end = path.rfind('/'); end != path.npos;) {
      if (skipped_.contains(path.substr(0, end))) return;
      end = end == 0 ? path.npos : path.rfind('/', end - 1);
    }
    found("what was asked for is missing without a reason");
  }

  const GuestTree& tree_;
  Collection collection_;
  std::vector<Path> globs_;
  std::set<std::string> skipped_;
  const Node root_;
};

// The planted fault opens paths without looking where they lead.
void collect_by_path(const GuestTree& tree, const std::string& root, Collection& collection) {
  for (const auto& [path, node] : tree.nodes()) {
    const std::string name = root + "/" + path;
    std::error_code error;
    const bool leads_to_file = std::filesystem::is_regular_file(name, error);
    if (node->kind != Kind::link || !leads_to_file) continue;
    std::ifstream file(name, std::ios::binary);
    collection.files.push_back({path, {std::istreambuf_iterator<char>(file), {}}});
  }
}

// A directory of this process: a tree is made in it, and a file beside the tree.
class Room {
 public:
  Room() {
    std::string name = std::filesystem::temp_directory_path() / "fuzz-collect.XXXXXX";
    require(::mkdtemp(name.data()) != nullptr, "there is no room for trees");
    place_ = name;
    std::ofstream(outside()) << secret;
  }
  Room(const Room&) = delete;
  Room& operator=(const Room&) = delete;
  ~Room() {
    std::error_code error;
    std::filesystem::remove_all(place_, error);
  }

  std::string tree() const { return place_ + "/tree"; }
  std::string outside() const { return place_ + "/outside"; }

 private:
  std::string place_;
};

void check_globs(const GuestTree& tree) {
  for (const std::string& glob : tree.globs()) {
    const bool valid = jail::check_glob(glob).has_value();
    for (const auto& [path, node] : tree.nodes()) {
      const bool named = valid && names(split(glob), split(path));
      require(jail::glob_names(glob, path) == named, "a glob names another path than it says");
    }
  }
}

void try_input(std::string_view lines) {
  static const Room room;
  const Descriptors descriptors;
  {
    const GuestTree tree(room.tree(), room.outside(), lines);
    check_globs(tree);
    Collection collection = jail::collect(tree.directory().get(), tree.globs(), tree.limits());
    if (is_planted()) collect_by_path(tree, room.tree(), collection);
    Checked(tree, std::move(collection)).run();
  }
  descriptors.require_as_before();
}

}  // namespace
}  // namespace fuzz

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* bytes, std::size_t size) {
  fuzz::try_input(fuzz::text_of(bytes, size));
  return 0;
}
