#include <errno.h>
#include <fcntl.h>
#include <linux/openat2.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <iterator>
#include <memory>
#include <optional>

#include "jail/fd.h"
#include "jail/result.h"
#include "jail/spec.h"
#include "parent/id_pool.h"
#include "parent/small_files.h"

namespace jail {
namespace {

// What programs below /usr look up in /etc: the loader, Debian's alternatives (libblas is one),
// OpenSSL's settings, time zones, fonts for plots. Nothing that names the host, its users or its
// network, or that the host's own Python would run at its start.
constexpr const char* shown_of_etc[] = {
    "/etc/alternatives",    "/etc/ld.so.cache",  "/etc/fonts",     "/etc/localtime",
    "/etc/mime.types",      "/etc/matplotlibrc", "/etc/ssl/certs", "/etc/services",
    "/etc/ssl/openssl.cnf", "/etc/protocols"};

// Links into /usr where /usr is merged, directories of their own where not.
constexpr const char* beside_usr[] = {"/bin", "/lib", "/lib32", "/lib64", "/libx32", "/sbin"};

// What an administrator installs by hand: programs, notes, sources, keys among them.
constexpr const char* not_of_packages[] = {"/usr/local", "/usr/src"};

void show_file(Root& root, const Fd& file, const std::string& source, const std::string& target) {
  if (std::optional<TextFile> copy = small_file(file, target)) {
    root.files.push_back(std::move(*copy));
  } else {
    root.binds.push_back({source, target, NodeKind::file});
  }
}

void show(Root& root, const std::string& path) {
  struct stat status {};
  if (::stat(path.c_str(), &status) != 0) return;
  if (S_ISDIR(status.st_mode)) {
    root.binds.push_back({path, path, NodeKind::directory});
  } else {
    show_file(root, Fd(::open(path.c_str(), O_RDONLY | O_NONBLOCK | O_CLOEXEC)), path, path);
  }
}

void show_or_link(Root& root, const std::string& path) {
  char text[256];
  const ssize_t size = ::readlink(path.c_str(), text, sizeof text);
  if (size > 0) {
    root.links.push_back({path, std::string(text, static_cast<std::size_t>(size))});
  } else {
    show(root, path);
  }
}

// No link is followed, neither on the way nor at the end: one with an absolute text would lead out
// of the tree and into the host's own.
Fd open_below(const Fd& tree, const std::string& path, std::uint64_t flags = O_PATH) {
  open_how how{};
  how.flags = flags | O_NOFOLLOW | O_CLOEXEC;
  how.resolve = RESOLVE_BENEATH | RESOLVE_NO_SYMLINKS;
  return Fd(
      static_cast<int>(::syscall(SYS_openat2, tree.get(), path.c_str() + 1, &how, sizeof how)));
}

// A link in the tree becomes a link in the jail, where its text leads to the tree's own files.
void show_below(Root& root, const Fd& tree, const std::string& directory, const std::string& path) {
  const Fd node = open_below(tree, path);
  struct stat status {};
  if (!node.valid() || ::fstat(node.get(), &status) != 0) return;
  if (S_ISLNK(status.st_mode)) {
    char text[256];
    const ssize_t size = ::readlinkat(node.get(), "", text, sizeof text);
    if (size > 0) root.links.push_back({path, std::string(text, static_cast<std::size_t>(size))});
  } else if (S_ISDIR(status.st_mode)) {
    root.binds.push_back({directory + path, path, NodeKind::directory});
  } else if (S_ISREG(status.st_mode)) {
    show_file(root, open_below(tree, path, O_RDONLY | O_NONBLOCK), directory + path, path);
  }
}

void add_own_files(Root& root) {
  const std::string uid = std::to_string(guest_uid);
  const std::string gid = std::to_string(guest_gid);
  const TextFile files[] = {
      {"/etc/passwd",
       "root:x:0:0:root:/root:/usr/sbin/nologin\n"
       "sandbox:x:" +
           uid + ":" + gid +
           "::/tmp:/bin/bash\n"
           "nobody:x:65534:65534:nobody:/nonexistent:/usr/sbin/nologin\n"},
      {"/etc/group", "root:x:0:\nsandbox:x:" + gid + ":\nnogroup:x:65534:\n"},
      {"/etc/hosts", "127.0.0.1 localhost sandbox\n::1 localhost\n"},
      {"/etc/nsswitch.conf", "passwd: files\ngroup: files\nhosts: files\n"},
  };
  root.files.insert(root.files.end(), std::begin(files), std::end(files));
}

Error refused(const std::string& path, const std::string& why, int error = 0) {
  return {ErrorKind::refused, "use " + path + " as a root: " + why, error, {}};
}

// Anybody who can write into the tree of a server can change the programs of all its guests.
Result<void> check_directory(const Fd& node, const std::string& path) {
  struct stat status {};
  if (!node.valid() || ::fstat(node.get(), &status) != 0) {
    return refused(path, "cannot be opened", errno);
  }
  if (!S_ISDIR(status.st_mode)) return refused(path, "not a directory");
  if ((status.st_mode & (S_IWGRP | S_IWOTH)) != 0) {
    return refused(path, "others than its owner may write into it");
  }
  if (status.st_uid != 0 && status.st_uid != ::geteuid()) {
    Error other = refused(path, "it belongs to user " + std::to_string(status.st_uid) +
                                    ", who is neither root nor the user of this process");
    if (in_range_of_ids())
      other.hint = "root's files are nobody's here: look before IdRange::enter()";
    return other;
  }
  return {};
}

}  // namespace

Root host_root() {
  Root root;
  show(root, "/usr");
  for (const char* path : beside_usr) show_or_link(root, path);
  for (const char* path : shown_of_etc) show(root, path);
  add_own_files(root);
  for (const char* path : not_of_packages) {
    struct stat status {};
    if (::lstat(path, &status) == 0 && S_ISDIR(status.st_mode)) root.hidden.emplace_back(path);
  }
  return root;
}

Result<Root> directory_root(const std::string& path) {
  if (path.empty() || path[0] != '/' || path.find('\0') != path.npos) {
    return Error{ErrorKind::invalid, "use \"" + path + "\" as a root: not an absolute path", 0, {}};
  }
  const std::unique_ptr<char, decltype(&::free)> real(::realpath(path.c_str(), nullptr), &::free);
  if (real == nullptr) return refused(path, "cannot be found", errno);
  const std::string directory = real.get();
  if (directory == "/") return refused(path, "that is the host's own; host_root() shows a part");
  const Fd tree(::open(directory.c_str(), O_PATH | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC));
  if (auto checked = check_directory(tree, directory); !checked) return checked.error();
  if (auto checked = check_directory(open_below(tree, "/usr"), directory + "/usr"); !checked) {
    return checked.error();
  }
  Root root;
  show_below(root, tree, directory, "/usr");
  for (const char* name : beside_usr) show_below(root, tree, directory, name);
  for (const char* name : shown_of_etc) show_below(root, tree, directory, name);
  add_own_files(root);
  return root;
}

}  // namespace jail
