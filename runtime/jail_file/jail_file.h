// A jail described by a JSON file: the policy, the binds, volumes and devices beside its root, and
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
  jail::Policy policy;  // the default one where the file names none; with the file's additional
                        // rules
  std::vector<jail::ReadOnlyBind> binds;
  std::vector<jail::Volume> volumes;
  std::vector<jail::Device> devices;
  jail::Network network;
  std::string hostname;                                  // empty: the default
  std::vector<std::pair<std::string, std::string>> env;  // set over the usual variables
};

// Reads the file. Paths of the host that do not begin with / are relative to the file's own
// directory. Looks at the host to see what kind of file each bind is, and reads the policy where
// that is a file of its own. Errors: ErrorKind::invalid, such as "mine.json: volumes[0].why:
// missing"; those of reading files. libjail decides whether a jail can have what the file says, and
// its errors have the same field names.
jail::Result<JailFile> read_jail_file(const std::string& path);

}  // namespace runtime
