// Which paths a set of globs names, found while walking down: a directory below which nothing can
// be named is never opened.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

namespace jail {

class GlobSet {
 public:
  explicit GlobSet(std::span<const std::string> globs);

  // How far the globs have come in some directory: for each one the set of its components, as bits,
  // that an entry of the directory may match.
  using Positions = std::vector<std::uint32_t>;

  Positions start() const;

  struct Match {
    bool is_named = false;  // a glob ends with this entry
    bool leads_on = false;  // should it be a directory: something below it may be named
    Positions below;
    std::uint64_t steps = 0;  // what the comparison may have cost, in pairs of characters
  };
  Match match(const Positions& positions, const std::string& name) const;

 private:
  // Bit `component` and those that are reached with it.
  std::uint32_t reach(std::size_t glob, std::size_t component) const;

  std::vector<std::vector<std::string>> globs_;
};

}  // namespace jail
