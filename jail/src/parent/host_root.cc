#include <sys/stat.h>
#include <unistd.h>

#include "jail/spec.h"

namespace jail {
namespace {

// What programs below /usr look up in /etc: the loader, Debian's alternatives (libblas is one),
// Python's and OpenSSL's settings, time zones, fonts for plots. Nothing that names the host, its
// users or its network.
constexpr const char* shown_of_etc[] = {
    "/etc/alternatives", "/etc/ld.so.cache",    "/etc/fonts",      "/etc/localtime",
    "/etc/mime.types",   "/etc/python3",        "/etc/python3.11", "/etc/matplotlibrc",
    "/etc/ssl/certs",    "/etc/ssl/openssl.cnf"};

// Links into /usr where the host has merged it, directories of their own where not.
constexpr const char* beside_usr[] = {"/bin", "/lib", "/lib32", "/lib64", "/libx32", "/sbin"};

void show(Root& root, const std::string& path) {
  struct stat status {};
  if (::stat(path.c_str(), &status) != 0) return;
  root.binds.push_back(
      {path, path, S_ISDIR(status.st_mode) ? NodeKind::directory : NodeKind::file});
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

}  // namespace

Root host_root() {
  Root root;
  show(root, "/usr");
  for (const char* path : beside_usr) show_or_link(root, path);
  for (const char* path : shown_of_etc) show(root, path);
  const std::string uid = std::to_string(guest_uid);
  const std::string gid = std::to_string(guest_gid);
  root.files = {
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
  return root;
}

}  // namespace jail
