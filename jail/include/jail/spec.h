// The specification of one jail: plain values, no kernel state. The spec that takes no effort is
// the safest one; every loosening is a field that somebody wrote.
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

// The type of what is shown at a place of the root.
enum class NodeKind : std::uint8_t { directory, file };

// A read-only view of a directory or file of the host, nosuid and nodev. A directory is shown by an
// overlay mount of the jail's own, so that no lock on what is in it reaches another jail: nothing
// may be mounted below it. The inode of a file is the host's, so everyone who can open it sees a
// lock on it; where that matters, and the content is small enough, make it a TextFile.
struct ReadOnlyBind {
  std::string source;  // absolute path on the host; symbolic links are followed
  std::string target;  // absolute path in the jail
  NodeKind kind = NodeKind::directory;
  std::string why = {};  // one line of text; used only in JailSpec::binds, where it must not be
                         // empty
};

// Whether programs that lie in a volume can be executed.
enum class Programs : std::uint8_t { refused, allowed };

// Whether a guest may change what is in a volume.
enum class VolumeAccess : std::uint8_t { read_write, read_only };

// A view of a directory of the host: the directory itself, nosuid and nodev, writable unless
// `access` says otherwise, and noexec unless `programs` says otherwise (an interpreter reads a
// script from it all the same).
//
// The directory must belong to the launcher's user, who must be able to write into it, and nothing
// may be mounted below it. No component of `source` may be a symbolic link, so that nobody can
// redirect the path by exchanging a link. Refused are /, /etc and everything in it, and /proc, /sys
// and /dev with everything in them or on a file system of their kind.
//
// What a guest writes belongs to the launcher's user and stays. It takes the host's disk: no limit
// of the jail bounds it but Limits::file_bytes, for each file; for a bound in all, put a quota on
// the directory. What is in there afterwards is the guest's doing: links that lead anywhere on the
// host, pipes that nobody writes to, programs with the set-user-ID bit, so keep the directory where
// other users have no path to it, and read its files as jail/collect.h does. A guest can connect to
// a socket that a process of the host has in it, and finds the path of `source` in its mountinfo.
// Jails that have the same source share all of it.
//
// In a living jail a volume may be at /workspace: it is the working directory then, in the place of
// the tmpfs and without its limits, and what is in it counts as no memory.
struct Volume {
  std::string source;  // absolute path on the host
  std::string target;  // absolute path in the jail, where nothing else is
  std::string why;     // one line of text, never empty; explain() shows it
  Programs programs = Programs::refused;
  VolumeAccess access = VolumeAccess::read_write;
};

// What a guest may do with a device.
enum class DeviceAccess : std::uint8_t { read, read_write };

// A character device of the host beside the five that every jail has (null, zero, full, random,
// urandom), at the same path. It must exist, and the launcher's user must have exactly this access
// to it: a mount cannot take away what a device's mode grants, so a device that the user may also
// write to cannot be given read-only. Refused are all devices of the driver of /dev/mem, /dev/kmem
// and /dev/port (by number, not by name), block devices and links. What a guest may do with it is
// up to its driver and to the filter, which lists the ioctl commands that pass. Jails that have the
// same device can notice each other by locks on it.
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
  std::optional<timespec> modified = std::nullopt;  // nullopt: the time at which the jail is made
};

// All that a guest can see of the file system beside its own tmpfs mounts, /dev and /proc.
struct Root {
  std::vector<ReadOnlyBind> binds;
  std::vector<Link> links;
  std::vector<TextFile> files;
  // Directories inside of `binds`, by their paths in the jail, that are empty to guests. A bind in
  // JailSpec::binds whose source and target are such a path shows that directory after all.
  std::vector<std::string> hidden = {};
};

// The root that needs no download: the host's own /usr, without /usr/local and /usr/src, which hold
// files that no package brought, and the few files of /etc that its programs look up, as they are
// on this host at the time of the call.
Root host_root();

// The same parts of a directory tree that was built for it. `path` is absolute; where it is a link,
// it is resolved now, so that replacing the link later changes nothing. Errors: ErrorKind::invalid
// or refused; the tree and its /usr must be directories that belong to root or to this process's
// user and that nobody else may write into.
Result<Root> directory_root(const std::string& path);

// What a jail may use. Launcher::enforcement() names what holds each limit.
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

// The event that ends a jail.
enum class Life : std::uint8_t {
  one_program,  // the end of the program of JailSpec::argv
  until_ended,  // nothing but its limits: processes are spawned into it (Jail::spawn())
};

// The size of a terminal, in characters.
struct TerminalSize {
  std::uint16_t columns = 80;
  std::uint16_t rows = 24;
};

// One jail. argv, root and filter have no default; the rest is as tight as it comes.
struct JailSpec {
  Life life = Life::one_program;
  // Both are empty for Life::until_ended, where each ProcessSpec has its own.
  std::vector<std::string> argv;  // argv[0] is a path inside the jail; no PATH look-up
  std::vector<std::string> env;   // "NAME=value"; nothing is inherited
  std::string working_directory = "/workspace";
  std::string hostname = "sandbox";
  Root root;
  // The jail's additions to its root, each with a reason; Launcher::explain() lists them. Nothing
  // else of the jail may be at, above or below a target. The source of a bind must not be / or lie
  // in /proc, /sys or /dev. All jails of a pool have them, and so share the contents of its
  // volumes; with Warmth::forked the zygote has them too.
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
  // The most that Jail::change_limits() may ask for, no less than `limits`. Only for
  // Life::until_ended and, in a pool, for Pool::launch_living(). Where it is not set, limits cannot
  // be raised, nor file systems changed.
  std::optional<Limits> max_limits = std::nullopt;
};

// Limits of one run, for callers that decide them later than the rest of Limits. A limit that is
// not set is that of JailSpec::limits.
struct RunLimits {
  std::optional<std::chrono::milliseconds> wall = std::nullopt;  // from start() on
  std::optional<std::chrono::milliseconds> cpu = std::nullopt;
  std::optional<std::uint64_t> memory_bytes = std::nullopt;
};

// The identity that a guest sees. Outside, both map to the ids of the launcher.
inline constexpr std::uint32_t guest_uid = 1000;
inline constexpr std::uint32_t guest_gid = 1000;

// New limits of a living jail that runs (Jail::change_limits()). One that is not set stays.
struct LimitChange {
  std::optional<std::uint64_t> memory_bytes = std::nullopt;
  std::optional<std::uint32_t> processes = std::nullopt;
  std::optional<std::uint32_t> cpu_percent = std::nullopt;  // takes a cgroup
  std::optional<std::uint64_t> file_bytes = std::nullopt;
  std::optional<std::uint64_t> workspace_bytes = std::nullopt;  // takes a tmpfs
  std::optional<std::uint64_t> tmp_bytes = std::nullopt;
};

}  // namespace jail
