// The root on which programs run, and the languages that it supports.
#pragma once

#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "jail/result.h"
#include "jail/spec.h"
#include "runtime/config/environment.h"
#include "runtime/sandbox/run_request.h"

namespace runtime {

struct ProgramRoot {
  enum class Kind {
    host,   // the host's own /usr
    built,  // a directory tree, usually one that rootfs/build made
  };
  Kind kind = Kind::host;
  std::string directory = "/";
  std::shared_ptr<const jail::Root> view = std::make_shared<const jail::Root>();
  // The version of each program that languages need and the root has, by its name ("node"); empty
  // where only running the program would tell it.
  std::map<std::string, std::string, std::less<>> versions;
};

// The places where a built root is looked for by default: the user's own cache, then the system's.
std::vector<std::string> default_root_places(const Environment& environment);

// What of a built root is wanted beside its files.
enum class Versions {
  read,    // those of its programs, of which its manifest tells
  unread,  // nothing: its manifest has to be whole, but is not understood
};

// `configured`: "host", an absolute path, or empty for the first of `places` that holds an intact
// built root, or the host's where none does. Errors: a configured directory that cannot be used; a
// root without /usr/bin/python3.
jail::Result<ProgramRoot> find_program_root(const std::string& configured,
                                            const std::vector<std::string>& places,
                                            Versions versions = Versions::read);

// The command that builds a root: that of the package where it is installed, else that of the
// source tree.
std::string root_builder();

// Returns why `language` cannot run on `root`; std::nullopt where it can.
std::optional<std::string> why_not_available(Language language, const ProgramRoot& root);

// Returns text such as "built root /var/lib/agent-sandbox/root-1a2b (python 3.13.5, node 20.19.2,
// ...)".
std::string describe(const ProgramRoot& root);

}  // namespace runtime
