#include "parent/glob.h"

#include <fnmatch.h>

#include <string_view>

#include "jail/collect.h"

namespace jail {
namespace {

constexpr std::size_t longest_glob = 512;
constexpr std::size_t max_components = 32;  // bits of a position set
constexpr std::string_view any_depth = "**";

std::vector<std::string> split(std::string_view path) {
  std::vector<std::string> components;
  for (;;) {
    const std::size_t slash = path.find('/');
    components.emplace_back(path.substr(0, slash));
    if (slash == path.npos) return components;
    path.remove_prefix(slash + 1);
  }
}

}  // namespace

Result<void> check_glob(std::string_view glob) {
  const auto wrong = [](const char* why) {
    return Error{ErrorKind::invalid, std::string("a glob ") + why, 0, {}};
  };
  if (glob.empty()) return wrong("that is empty");
  if (glob.size() > longest_glob) return wrong("of more than 512 bytes");
  if (glob.find('\0') != glob.npos) return wrong("with a NUL in it");
  if (glob.front() == '/')
    return wrong("that begins with /; it is relative to the working directory: leave the / out");
  const std::vector<std::string> components = split(glob);
  if (components.size() > max_components) return wrong("of more than 32 components");
  for (const std::string& component : components) {
    if (component.empty()) return wrong("with an empty component");
    if (component == "." || component == "..") return wrong("with . or .. as a component");
  }
  return {};
}

bool glob_names(const std::string& glob, std::string_view path) {
  const GlobSet set(std::span(&glob, 1));
  GlobSet::Positions positions = set.start();
  GlobSet::Match match;
  for (const std::string& component : split(path)) {
    if (component.empty()) return false;  // no file has such a path
    match = set.match(positions, component);
    positions = match.below;
  }
  return match.is_named;
}

GlobSet::GlobSet(std::span<const std::string> globs) {
  for (const std::string& glob : globs) {
    if (check_glob(glob)) globs_.push_back(split(glob));
  }
}

GlobSet::Positions GlobSet::start() const {
  Positions positions(globs_.size());
  for (std::size_t glob = 0; glob < globs_.size(); ++glob) positions[glob] = reach(glob, 0);
  return positions;
}

// A `**` may stand for no directory at all, so what follows it is reached at once. At the end of a
// glob it names files.
std::uint32_t GlobSet::reach(std::size_t glob, std::size_t component) const {
  const auto& components = globs_[glob];
  std::uint32_t reached = 1u << component;
  while (component + 1 < components.size() && components[component] == any_depth) {
    reached |= 1u << ++component;
  }
  return reached;
}

GlobSet::Match GlobSet::match(const Positions& positions, const std::string& name) const {
  Match match;
  match.below.resize(globs_.size());
  for (std::size_t glob = 0; glob < globs_.size(); ++glob) {
    const auto& components = globs_[glob];
    for (std::size_t at = 0; at < components.size(); ++at) {
      if ((positions[glob] >> at & 1) == 0) continue;
      const std::string& component = components[at];
      const bool last = at + 1 == components.size();
      match.steps += component.size() * name.size();
      if (component == any_depth) {
        if (name.front() == '.') continue;
        match.below[glob] |= reach(glob, at);
        match.is_named |= last;
      } else if (::fnmatch(component.c_str(), name.c_str(), FNM_PERIOD | FNM_NOESCAPE) == 0) {
        if (!last) match.below[glob] |= reach(glob, at + 1);
        match.is_named |= last;
      }
    }
    match.leads_on |= match.below[glob] != 0;
  }
  return match;
}

}  // namespace jail
