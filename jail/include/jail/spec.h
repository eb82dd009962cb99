// What one jail shall be: plain values, no kernel state. The spec that takes no effort is the
// safest one; every loosening is a field that somebody wrote.
#pragma once

#include <chrono>
#include <cstdint>
#include <ctime>
#include <optional>
#include <string>
#include <vector>

#include "jail/network.h"
#include "jail/policy.h"
#include "jail/result.h"

namespace jail {

enum class NodeKind : std::uint8_t { directory, file };

// A read-only view of a directory or file of the host, nosuid and nodev. A directory is shown by an
// overlay mount of the jail's own, so that no lock on what is in it reaches another jail: nothing
// may be mounted below it. The inode of a file is the host's, and a lock on it is seen by all who
// can open it; where that matters, and it fits, make it a TextFile.
struct ReadOnlyBind {
  std::string source;  // absolute path on the host; symbolic links are followed
  std::string target;  // absolute path in the jail
  NodeKind kind = NodeKind::directory;
};

// A symbolic link in the jail's root.
struct Link {
  std::string target;     // absolute path in the jail
  std::string points_to;  // its text
};

// A small file in the jail's read-only root, such as /etc/passwd.
struct TextFile {
  std::string target;
  std::string text;
  std::optional<timespec> modified = std::nullopt;  // when the jail is made, where there is none
};

struct Root {
  std::vector<ReadOnlyBind> binds;
  std::vector<Link> links;
  std::vector<TextFile> files;
};

// The root that needs no download: the host's own /usr and the few files of /etc that programs in
// it look up, as they stand on this host at the time of the call.
Root host_root();

// The same parts of a directory tree that was built for it. `path` is absolute; where it is a link,
// the tree that it leads to now is meant, so that replacing the link changes nothing under way.
// Errors: ErrorKind::invalid or refused; the tree and its /usr must be directories that belong to
// root or to this process's user and that nobody else may write into.
Result<Root> directory_root(const std::string& path);

struct Limits {
  std::chrono::milliseconds wall{5000};  // from start() on
  std::chrono::milliseconds cpu{5000};   // user + system of all processes of the jail together
  std::uint32_t cpu_percent = 100;  // of one core; a jail that wants more is slowed down, where
                                    // it has a cgroup
  std::uint64_t memory_bytes = 256u << 20;
  std::uint32_t processes = 128;  // processes and threads, init not counted; the process that keeps
                                  // a forked guest's memory (pool.h) is one of them
  std::uint32_t open_files = 1024;
  std::uint64_t file_bytes = 64u << 20;  // largest single file
  std::uint64_t stack_bytes = 8u << 20;
  std::uint64_t workspace_bytes = 64u << 20;
  std::uint32_t workspace_inodes = 16384;
  std::uint64_t tmp_bytes = 64u << 20;
  std::uint32_t tmp_inodes = 16384;
};

struct JailSpec {
  std::vector<std::string> argv;  // argv[0] is a path inside the jail; no PATH look-up
  std::vector<std::string> env;   // "NAME=value"; nothing is inherited
  std::string working_directory = "/workspace";
  std::string hostname = "sandbox";
  Root root;
  Network network;
  Limits limits;
  FilterProgram filter;  // from compile_policy(); an empty program is refused
};

// What one run may use, where that is decided later than the rest of Limits.
struct RunLimits {
  std::chrono::milliseconds wall{5000};  // from start() on
  std::chrono::milliseconds cpu{5000};
  std::uint64_t memory_bytes = 256u << 20;
};

// The identity that a guest sees. Outside, both map to the ids of the launcher.
inline constexpr std::uint32_t guest_uid = 1000;
inline constexpr std::uint32_t guest_gid = 1000;

}  // namespace jail
