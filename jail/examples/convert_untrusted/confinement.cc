#include "confinement.h"

#include <fcntl.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/stat.h>

#include <cerrno>
#include <initializer_list>
#include <memory>

namespace confinement {
namespace {

constexpr jail::Decision allow{jail::Verdict::allow};
constexpr jail::Decision kill{jail::Verdict::kill};

void add(jail::Policy& policy, jail::Decision decision, std::initializer_list<const char*> calls,
         const char* why) {
  for (const char* call : calls) policy.rules.push_back({call, decision, {}, why});
}

// Shows only what the host has: distributions differ in which of these are directories and which
// are links.
void show_directory(jail::Root& root, const char* path) {
  struct stat status {};
  if (::lstat(path, &status) == 0 && S_ISDIR(status.st_mode)) {
    root.binds.push_back({path, path, jail::NodeKind::directory});
  }
}

// host_root() shows all of /usr: shells, interpreters, compilers. An attacker who takes over the
// converter must find none of them, so this root has only the loader, the libraries and one
// program. Fonts and /etc/ImageMagick-6 stay out too: without its delegates.xml there is no other
// program that an image could have started.
jail::Root narrow_root(const std::string& program) {
  jail::Root host = jail::host_root();
  jail::Root root;
  root.links = std::move(host.links);  // such as /lib to /usr/lib, where /usr is merged
  root.files = std::move(host.files);  // a passwd file of the jail's own, the loader's cache
  for (const char* path : {"/usr/lib", "/usr/lib64", "/lib", "/lib64", "/etc/alternatives"}) {
    show_directory(root, path);
  }
  root.binds.push_back({program, "/usr/bin/convert", jail::NodeKind::file});
  return root;
}

}  // namespace

jail::Policy policy() {
  jail::Policy policy;
  policy.name = "convert";
  add(policy, allow,
      {"read", "write", "readv", "writev", "pread64", "pwrite64", "lseek", "close", "dup", "dup2"},
      "Input and output on descriptors that it holds.");
  add(policy, allow,
      {"open", "openat", "stat", "lstat", "fstat", "newfstatat", "statx", "access", "faccessat",
       "faccessat2", "readlink", "readlinkat", "getcwd", "getdents64", "ftruncate", "fallocate"},
      "Finds its libraries and its input and writes its output; names lead to the jail's own "
      "root.");
  add(policy, allow, {"unlink"}, "Takes its temporary files away again.");
  add(policy, allow, {"munmap", "mremap", "madvise", "brk"}, "Memory, up to the jail's limit.");
  add(policy, allow,
      {"arch_prctl", "set_tid_address", "set_robust_list", "rseq", "futex", "prlimit64",
       "getrandom", "sched_getaffinity", "rt_sigaction", "rt_sigprocmask", "rt_sigreturn", "exit",
       "exit_group"},
      "What the C library does at the beginning and at the end of each program.");
  add(policy, allow,
      {"clock_gettime", "gettimeofday", "times", "getrusage", "sysinfo", "uname", "getpid",
       "gettid", "getuid", "geteuid", "getgid", "getegid"},
      "Asks about the time and about itself; changes nothing.");
  add(policy, allow, {"execve"},
      "The jail starts the converter by it, under this filter already. Afterwards it could only "
      "replace itself, as nothing below lets it have a child.");
  // Numbers among the arguments can be checked, too.
  policy.rules.push_back({"fcntl",
                          allow,
                          {{.argument = 1, .value = F_GETFL}},
                          "fdopen asks how a descriptor was opened."});
  policy.rules.push_back({"mmap",
                          allow,
                          {{.argument = 2, .mask = PROT_EXEC, .value = 0}},
                          "Memory for data and files to read."});
  policy.rules.push_back({"mmap",
                          allow,
                          {{.argument = 2, .mask = PROT_EXEC | PROT_WRITE, .value = PROT_EXEC},
                           {.argument = 3, .mask = MAP_ANONYMOUS, .value = 0}},
                          "The loader maps code from files, and never to write into."});
  policy.rules.push_back({"mprotect",
                          allow,
                          {{.argument = 2, .mask = PROT_EXEC, .value = 0}},
                          "The loader protects its tables; no memory becomes code."});
  // Everything else fails with ENOSYS, so that a library falls back. No library makes these calls
  // by accident: a guest that makes one has been taken over, and the report must say `violation`.
  add(policy, kill, {"socket", "socketpair", "connect", "bind", "sendto", "sendmsg"},
      "A converter talks to nobody.");
  add(policy, kill, {"fork", "vfork", "clone", "clone3"}, "A converter starts no other program.");
  add(policy, kill,
      {"ptrace", "process_vm_readv", "process_vm_writev", "bpf", "userfaultfd", "io_uring_setup",
       "perf_event_open", "keyctl", "add_key", "unshare", "mount"},
      "The usual doors of an attack on the kernel.");
  return policy;
}

jail::Result<jail::JailSpec> spec(const std::string& converter, const std::string& input,
                                  const std::string& output) {
  // Debian's convert is a link by way of two others. A bind of their target needs none of them.
  const std::unique_ptr<char, decltype(&::free)> real(::realpath(converter.c_str(), nullptr),
                                                      &::free);
  if (real == nullptr) {
    return jail::Error{jail::ErrorKind::refused, "find " + converter, errno, "Is it installed?"};
  }
  jail::Result<jail::FilterProgram> filter = jail::compile_policy(policy());
  if (!filter) return filter.error();
  jail::JailSpec spec;
  spec.argv = {"/usr/bin/convert", input, output};
  // ImageMagick uses one thread, since it cannot start another. Nothing else of our environment is
  // passed on.
  spec.env = {"OMP_NUM_THREADS=1", "MAGICK_THREAD_LIMIT=1", "LC_ALL=C.UTF-8"};
  spec.root = narrow_root(real.get());
  spec.filter = std::move(*filter);
  spec.limits.wall = std::chrono::seconds(20);
  spec.limits.cpu = std::chrono::seconds(10);
  spec.limits.memory_bytes = 512u << 20;
  spec.limits.processes = 1;
  spec.limits.open_files = 32;
  spec.limits.file_bytes = 32u << 20;
  return spec;
}

}  // namespace confinement
