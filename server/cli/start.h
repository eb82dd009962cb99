// The start of every command that runs programs, in the order on which its safety rests.
#pragma once

#include <functional>
#include <optional>
#include <string>

#include "jail/result.h"
#include "runtime/config/config.h"
#include "runtime/config/environment.h"
#include "runtime/sandbox/cgroup_source.h"
#include "runtime/sandbox/program_root.h"
#include "runtime/sandbox/runner.h"
#include "server/cli/arguments.h"
#include "server/cli/own_users.h"

namespace server {

// What agent-sandbox doctor advises where there is no cgroup.
std::string how_to_delegate();

struct StartRequest {
  const HostOptions& host;
  runtime::Environment environment;
  std::optional<std::string> config_path = std::nullopt;  // nothing: where it is usually found
  // Whether the command goes on with this configuration. Called while root has not ended.
  std::function<jail::Result<void>(const runtime::Config&)> check = {};
  // The last that is called while root has not ended.
  std::function<jail::Result<void>()> before_root_ends = {};
  // Whether a .env is for more than how programs run: who runs one program may stand in a directory
  // whose .env is another program's.
  bool reads_all_of_dotenv = true;
  // Whether the command tells the versions of what it runs.
  runtime::Versions versions = runtime::Versions::read;
  // False: jails share files of the host with this process's user.
  bool may_have_own_users = true;
};

struct Start {
  runtime::Config config;
  runtime::Environment environment;
  runtime::CgroupChoice cgroup;
  runtime::ProgramRoot root;
  OwnUsers users;
};

// What went wrong where that does not end the start.
struct StartFailures {
  std::optional<jail::Error> config;  // the defaults were used
  std::optional<jail::Error> cgroup;  // there is none
  std::optional<jail::Error> root;    // it is empty
};

// Reads the configuration as whoever called; finds the cgroup, and gives it to whoever root
// becomes, since it could not be given away later; ends root for good, with users of the host for
// jails where that can be; and opens the root that programs see, as whoever is left where jails
// have that user. To be called while there is only one thread. Errors: the first thing that went
// wrong. With `tolerated`, only that root could not be ended.
jail::Result<Start> start(StartRequest request, StartFailures* tolerated = nullptr);

// The limits of jails as configured, on the cgroup and the root of `start`.
runtime::RunnerOptions runner_options(const Start& start);

}  // namespace server
