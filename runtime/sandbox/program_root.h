// Which root programs run on, and what of the languages it has.
#pragma once

#include <map>
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
    built,  // a directory tree, as a rule one that rootfs/build made
  };
  Kind kind = Kind::host;
  std::string directory = "/";
  jail::Root view;
  // By name ("node") the version of each program that is there and that languages need; empty where
  // nothing says it without running the program.
  std::map<std::string, std::string, std::less<>> versions;
};

// Where a built root is looked for when nobody names one: the user's own cache, then the system's.
std::vector<std::string> default_root_places(const Environment& environment);

// `configured`: "host", an absolute path, or empty for the first of `places` that holds an intact
// built root, and the host's where none does.
// Errors: a configured directory that cannot be used; a root without /usr/bin/python3.
jail::Result<ProgramRoot> find_program_root(const std::string& configured,
                                            const std::vector<std::string>& places);

// The command that builds a root: the package's where that is installed, else the source tree's.
std::string root_builder();

// Why `language` cannot run on `root`; nothing where it can.
std::optional<std::string> why_not_available(Language language, const ProgramRoot& root);

// "built root /var/lib/agent-sandbox/root-1a2b (python 3.11.2, node 18.20.4, ...)"
std::string describe(const ProgramRoot& root);

}  // namespace runtime
