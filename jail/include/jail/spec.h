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

// What is shown at a place of the root.
enum class NodeKind : std::uint8_t { directory, file };

// A read-only view of a directory or file of the host, nosuid and nodev. A directory is shown by an
// overlay mount of the jail's own, so that no lock on what is in it reaches another jail: nothing
// may be mounted below it. The inode of a file is the host's, and a lock on it is seen by all who
// can open it; where that matters, and it fits, make it a TextFile.
struct ReadOnlyBind {
  std::string source;  // absolute path on the host; symbolic links are followed
  std::string target;  // absolute path in the jail
  NodeKind kind = NodeKind::directory;
  std::string why = {};  // one line of text; for JailSpec::binds, where it must not be empty
};

// Whether what is in a volume can be executed.
enum class Programs : std::uint8_t { refused, allowed };

// A writable view of a directory of the host: the directory itself, nosuid and nodev, and noexec
// unless `programs` says otherwise (an interpreter reads a script from it all the same).
//
// The directory must belong to the launcher's user, who must be able to write into it, and nothing
// may be mounted below it. No component of `source` may be a symbolic link: what was meant is what
// is opened, whoever can exchange a link in between. Refused are /, /etc and everything in it, and
// what is or lies in /proc, /sys or /dev or on a file system of their kind.
//
// What a guest writes belongs to the launcher's user and stays. It is the host's disk: neither
// Limits::memory_bytes nor any bound of the jail's own holds it, but Limits::file_bytes for each
// file; whoever needs a bound puts a quota on the directory. What is in there afterwards is the
// guest's doing: links that lead anywhere on the host, pipes that nobody writes to, programs with
// the set-user-ID bit, so keep it where other users have no path to it, and look at its files as
// jail/collect.h does. A guest can connect to a socket that a process of the host has in it, and
// finds the path of `source` in its mountinfo. Jails that have the same source share all of it.
struct Volume {
  std::string source;  // absolute path on the host
  std::string target;  // absolute path in the jail, where nothing else is
  std::string why;     // one line of text, never empty; explain() shows it
  Programs programs = Programs::refused;
};

// What a guest may do with a device.
enum class DeviceAccess : std::uint8_t { read, read_write };

// A character device of the host beside the five that every jail has (null, zero, full, random,
// urandom), at the same path. It must exist and the launcher's user must have this access to it, no
// less and no more: a mount cannot take away what a device's mode gives, so a device that the user
// may also write to is not given as one to read. Refused are /dev/mem, /dev/kmem, /dev/port and
// whatever else is of their driver, by number and not by name; block devices; links. What a guest
// may do with it is up to its driver and to the filter, which lists the ioctl commands that pass.
// Jails that have the same device can notice each other by locks on it.
struct Device {
  std::string path;  // "/dev/kvm"
  DeviceAccess access = DeviceAccess::read_write;
  std::string why = {};  // one line of text, never empty; explain() shows it
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

// All that a guest can see of the file system beside its own tmpfs mounts, /dev and /proc.
struct Root {
  std::vector<ReadOnlyBind> binds;
  std::vector<Link> links;
  std::vector<TextFile> files;
  // Directories in those of `binds`, by their paths in the jail, that are empty to guests. One of
  // JailSpec::binds whose source and target are such a path shows it after all.
  std::vector<std::string> hidden = {};
};

// The root that needs no download: the host's own /usr, without /usr/local and /usr/src, where
// people put what no package brought, and the few files of /etc that programs in it look up, as
// they stand on this host at the time of the call.
Root host_root();

// The same parts of a directory tree that was built for it. `path` is absolute; where it is a link,
// the tree that it leads to now is meant, so that replacing the link changes nothing under way.
// Errors: ErrorKind::invalid or refused; the tree and its /usr must be directories that belong to
// root or to this process's user and that nobody else may write into.
Result<Root> directory_root(const std::string& path);

// What a jail may use. Each is held by what Launcher::enforcement() names.
struct Limits {
  std::chrono::milliseconds wall{5000};  // from start() on
  std::chrono::milliseconds cpu{5000};   // user + system of all processes of the jail together
  std::uint32_t cpu_percent = 100;  // of one core; a jail that wants more is slowed down, where
                                    // it has a cgroup
  std::uint64_t memory_bytes = 256u << 20;
  std::uint32_t processes = 128;  // processes and threads, init not counted
  std::uint32_t open_files = 1024;
  std::uint64_t file_bytes = 64u << 20;  // largest single file
  std::uint64_t stack_bytes = 8u << 20;
  std::uint64_t workspace_bytes = 64u << 20;
  std::uint32_t workspace_inodes = 16384;
  std::uint64_t tmp_bytes = 64u << 20;
  std::uint32_t tmp_inodes = 16384;
};

// When a jail ends by itself.
enum class Life : std::uint8_t {
  one_program,  // when the program of JailSpec::argv has ended
  until_ended,  // only at one of its limits: processes are spawned into it (Jail::spawn())
};

// Of a terminal, in characters.
struct TerminalSize {
  std::uint16_t columns = 80;
  std::uint16_t rows = 24;
};

// One jail. argv, root and filter have no default; the rest is as tight as it comes.
struct JailSpec {
  Life life = Life::one_program;
  // Both empty for Life::until_ended, where each ProcessSpec has its own.
  std::vector<std::string> argv;  // argv[0] is a path inside the jail; no PATH look-up
  std::vector<std::string> env;   // "NAME=value"; nothing is inherited
  std::string working_directory = "/workspace";
  std::string hostname = "sandbox";
  Root root;
  // What a jail has beside its root, each with a reason; Launcher::explain() lists them. Targets
  // are places that nothing else of the jail is at, above or below. Sources of binds are not /, nor
  // in /proc, /sys or /dev. All jails of a pool have them, and so share what its volumes hold; of
  // Warmth::forked the zygote has them too.
  std::vector<ReadOnlyBind> binds = {};
  std::vector<Volume> volumes = {};
  std::vector<Device> devices = {};
  Network network = {};
  // A terminal of the jail's own as the guest's standard streams and as its controlling terminal,
  // in place of three pipes (Jail::terminal_fd()). Only for Life::one_program, and not in a pool. A
  // shell's job control takes tcsetpgrp(3), which the default policy refuses:
  // jail::terminal_rules() has it.
  std::optional<TerminalSize> terminal = std::nullopt;
  Limits limits;
  FilterProgram filter;  // from compile_policy(); an empty program is refused
};

// What one run may use, where that is decided later than the rest of Limits. What is not named is
// as in JailSpec::limits.
struct RunLimits {
  std::optional<std::chrono::milliseconds> wall = std::nullopt;  // from start() on
  std::optional<std::chrono::milliseconds> cpu = std::nullopt;
  std::optional<std::uint64_t> memory_bytes = std::nullopt;
};

// The identity that a guest sees. Outside, both map to the ids of the launcher.
inline constexpr std::uint32_t guest_uid = 1000;
inline constexpr std::uint32_t guest_gid = 1000;

}  // namespace jail
