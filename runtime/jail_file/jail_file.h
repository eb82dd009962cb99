// A jail in a file of JSON: the policy, the binds, volumes and devices that it has beside its root,
// its network. The format is described in policies/README.md.
#pragma once

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "jail/policy.h"
#include "jail/result.h"
#include "jail/spec.h"

namespace runtime {

struct JailFile {
  jail::Policy policy;  // the default one where the file names none, with the file's more rules
  std::vector<jail::ReadOnlyBind> binds;
  std::vector<jail::Volume> volumes;
  std::vector<jail::Device> devices;
  jail::Network network;
  std::string hostname;                                  // empty: the usual one
  std::vector<std::pair<std::string, std::string>> env;  // over the usual variables
};

// Paths of the host that do not begin with / are meant from the file's own directory. Looks at the
// host for the kind of what is bound, and reads the policy where it is a file of its own.
// Errors: ErrorKind::invalid, such as "mine.json: volumes[0].why: missing"; those of reading files.
// Whether a jail can have what is in the file, libjail says, with the same names of fields.
jail::Result<JailFile> read_jail_file(const std::string& path);

}  // namespace runtime
