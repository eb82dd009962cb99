#include "tests/fuzz/guest_tree.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <charconv>
#include <filesystem>

#include "tests/fuzz/fuzz.h"

namespace fuzz {
namespace {

constexpr std::size_t max_lines = 64;
constexpr std::size_t max_components = 40;  // deeper than a collection goes
constexpr std::size_t longest_name = 255;
constexpr std::size_t longest_content = 4096;
constexpr std::uint64_t largest_file = std::uint64_t{1} << 40;

std::string_view taken(std::string_view& text, char mark) {
  const std::size_t end = std::min(text.find(mark), text.size());
  const std::string_view part = text.substr(0, end);
  text.remove_prefix(std::min(end + 1, text.size()));
  return part;
}

std::vector<std::string> components_of(std::string_view path) {
  std::vector<std::string> components;
  while (!path.empty() && components.size() < max_components) {
    std::string name(taken(path, '/').substr(0, longest_name));
    name.resize(std::min(name.find('\0'), name.size()));
    if (!name.empty() && name != "." && name != "..") components.push_back(std::move(name));
  }
  return components;
}

}  // namespace

GuestTree::GuestTree(const std::string& directory, const std::string& outside,
                     std::string_view lines)
    : root_(directory), outside_(outside) {
  const bool made = ::mkdir(root_.c_str(), 0755) == 0;
  directory_.reset(::open(root_.c_str(), O_PATH | O_DIRECTORY | O_CLOEXEC));
  require(made && directory_.valid(), "there is no room for a tree");
  for (std::size_t count = 0; count < max_lines && !lines.empty(); ++count) {
    const std::string_view line = taken(lines, '\n');
    if (line.size() > 2) make(line[0], line.substr(2));
  }
}

GuestTree::~GuestTree() {
  std::error_code error;
  std::filesystem::remove_all(root_, error);
  if (error) found("a tree cannot be removed: " + error.message());
}

void GuestTree::make(char what, std::string_view rest) {
  if (what == 'g') {
    globs_.emplace_back(rest);
    return;
  }
  if (what == 'b') return set_limits(rest);
  if (std::string_view("fdlpstho").find(what) == std::string_view::npos) return;
  const Place place = place_of(taken(rest, '='));
  if (!place.above.valid()) return;
  switch (what) {
    case 'f':
      return make_file(place, rest, 0);
    case 't': {
      std::uint64_t size = 0;
      std::from_chars(rest.data(), rest.data() + rest.size(), size);
      return make_file(place, "x", std::min(size, largest_file));
    }
    case 'l':
      return make_link(place, std::string(rest));
    case 'h':
      return make_name(place, rest);
    default:
      return make_special(place, what);
  }
}

void GuestTree::make_file(const Place& place, std::string_view content, std::uint64_t size) {
  content = content.substr(0, longest_content);
  const jail::Fd file(::openat(place.above.get(), place.name.c_str(),
                               O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0644));
  if (!file.valid()) return;
  const ssize_t written = ::write(file.get(), content.data(), content.size());
  require(written == static_cast<ssize_t>(content.size()), "a file of the tree is not written");
  Node node(Kind::file);
  node.content = content;
  node.size = content.size();
  if (size > node.size && ::ftruncate(file.get(), static_cast<off_t>(size)) == 0) {
    node.size = size;
    node.content.resize(std::min<std::uint64_t>(size, longest_content));
  }
  remember(place, std::move(node));
}

void GuestTree::make_link(const Place& place, const std::string& target) {
  if (::symlinkat(target.c_str(), place.above.get(), place.name.c_str()) == 0) {
    remember(place, Node(Kind::link));
  }
}

void GuestTree::make_name(const Place& place, std::string_view of) {
  const Place other = place_of(of);
  const auto known = nodes_.find(other.path);
  if (known == nodes_.end() || known->second->kind == Kind::directory) return;
  const int made =
      ::linkat(other.above.get(), other.name.c_str(), place.above.get(), place.name.c_str(), 0);
  if (made != 0) return;
  ++known->second->links;
  nodes_[place.path] = known->second;
}

void GuestTree::make_special(const Place& place, char what) {
  const int above = place.above.get();
  const char* name = place.name.c_str();
  if (what == 'd' && ::mkdirat(above, name, 0755) == 0) remember(place, Node(Kind::directory));
  if (what == 'p' && ::mkfifoat(above, name, 0644) == 0) remember(place, Node(Kind::fifo));
  if (what == 's' && ::mknodat(above, name, S_IFSOCK | 0644, 0) == 0) {
    remember(place, Node(Kind::socket));
  }
  if (what == 'o' && ::linkat(AT_FDCWD, outside_.c_str(), above, name, 0) == 0) {
    Node node(Kind::file);
    node.links = 2;
    remember(place, std::move(node));
  }
}

void GuestTree::set_limits(std::string_view bytes) {
  Choices from(bytes);
  limits_.files = from.byte();
  limits_.file_bytes = from.byte() * 8;
  limits_.total_bytes = from.byte() * 16;
  limits_.depth = from.byte() % 33;
  limits_.entries = from.byte();
  limits_.listed_skips = from.byte();
}

// No component is followed: a link that this input made must not lead out of the tree.
GuestTree::Place GuestTree::place_of(std::string_view path) {
  Place place;
  const auto components = components_of(path);
  if (components.empty()) return place;
  jail::Fd above(::openat(directory_.get(), ".", O_PATH | O_DIRECTORY | O_CLOEXEC));
  for (const std::string& name : components) {
    if (place.above.valid()) {
      if (::mkdirat(place.above.get(), place.name.c_str(), 0755) == 0) {
        remember(place, Node(Kind::directory));
      }
      above.reset(::openat(place.above.get(), place.name.c_str(),
                           O_PATH | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC));
      if (!above.valid()) return {};
      place.path += '/';
    }
    place.above = std::move(above);
    place.name = name;
    place.path += name;
  }
  return place;
}

void GuestTree::remember(const Place& place, Node node) {
  nodes_[place.path] = std::make_shared<Node>(std::move(node));
}

}  // namespace fuzz
