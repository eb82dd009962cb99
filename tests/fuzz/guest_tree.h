// A directory as a guest may leave it, made from a text, and a record of what was made.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "jail/collect.h"
#include "jail/fd.h"

namespace fuzz {

enum class Kind : std::uint8_t { directory, file, link, fifo, socket };

// An inode, which may have several names.
struct Node {
  explicit Node(Kind its_kind = Kind::directory) : kind(its_kind) {}

  Kind kind;
  std::string content;
  std::uint64_t size = 0;
  std::uint32_t links = 1;
};

// Made below a directory that is emptied with it. Lines, in any order and with any bytes:
//   f PATH=CONTENT  d PATH  l PATH=WHERE TO  p PATH  s PATH   file, directory, link, FIFO, socket
//   t PATH=DIGITS   a file of that size with a hole in it
//   h PATH=PATH     another name of a file; o PATH  one for a file outside of the directory
//   g GLOB          what is asked for
//   b BYTES         limits, a byte each: files, bytes of one, of all, depth, entries, listed skips
// A path is led below the directory whatever it says, and its directories are made on the way.
class GuestTree {
 public:
  GuestTree(const std::string& directory, const std::string& outside, std::string_view lines);
  GuestTree(const GuestTree&) = delete;
  GuestTree& operator=(const GuestTree&) = delete;
  ~GuestTree();

  const jail::Fd& directory() const { return directory_; }
  const std::map<std::string, std::shared_ptr<Node>>& nodes() const { return nodes_; }
  const std::vector<std::string>& globs() const { return globs_; }
  const jail::CollectLimits& limits() const { return limits_; }

 private:
  // A directory of the tree and a name in it.
  struct Place {
    jail::Fd above;
    std::string name;
    std::string path;
  };

  void make(char what, std::string_view rest);
  void make_file(const Place& place, std::string_view content, std::uint64_t size);
  void make_link(const Place& place, const std::string& target);
  void make_name(const Place& place, std::string_view of);
  void make_special(const Place& place, char what);
  void set_limits(std::string_view bytes);
  Place place_of(std::string_view path);
  void remember(const Place& place, Node node);

  std::string root_;
  std::string outside_;
  jail::Fd directory_;
  std::map<std::string, std::shared_ptr<Node>> nodes_;
  std::vector<std::string> globs_;
  jail::CollectLimits limits_;
};

}  // namespace fuzz
