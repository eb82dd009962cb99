#include "server/cli/doctor.h"

#include <unistd.h>

#include <algorithm>
#include <boost/asio/thread_pool.hpp>

#include "runtime/json/writer.h"
#include "runtime/sandbox/language.h"
#include "runtime/sandbox/program_root.h"
#include "runtime/sandbox/runner.h"
#include "server/cli/exit_codes.h"
#include "server/cli/host_exposure.h"
#include "server/cli/run_once.h"
#include "server/cli/start.h"
#include "server/cli/write_all.h"

namespace server {
namespace {

namespace asio = boost::asio;

std::string_view state_word(Check::State state) {
  switch (state) {
    case Check::State::good:
      return "ok";
    case Check::State::notice:
      return "note";
    case Check::State::missing:
      return "missing";
  }
  return "missing";
}

// Green, yellow, red.
std::string_view colour_of(Check::State state) {
  if (state == Check::State::good) return "\x1b[32m";
  return state == Check::State::notice ? "\x1b[33m" : "\x1b[31m";
}

std::string painted(const std::string& text, Check::State state, Colours colours) {
  if (colours == Colours::none) return text;
  return std::string(colour_of(state)) + text + "\x1b[0m";
}

Check self_test_failed(const std::string& found, const std::string& advice) {
  return {.name = "self test", .state = Check::State::missing, .found = found, .advice = advice};
}

// However slow it is, jails run.
Check check_speed(const Host& host, const jail::Result<HostSpeed>& speed) {
  if (speed) {
    return {.name = "speed",
            .state = Check::State::good,
            .found = describe(host, *speed),
            .advice = {}};
  }
  return {.name = "speed",
          .state = Check::State::notice,
          .found = speed.error().message(),
          .advice = "how long a jail takes here cannot be foretold"};
}

Check check_cgroup(const jail::Result<runtime::CgroupChoice>& cgroup) {
  Check check{.name = "cgroup v2", .state = Check::State::good, .found = {}, .advice = {}};
  if (!cgroup) {
    check.state = Check::State::missing;
    check.found = cgroup.error().message();
  } else if (cgroup->tree) {
    check.found = cgroup->tree->path() + " (" + std::string(to_string(cgroup->origin)) + ")";
  } else {
    check.state = Check::State::notice;
    check.found = cgroup->why_none;
    check.advice = std::string("limits are held by rlimits and a watchdog; for a cgroup, ") +
                   how_to_delegate();
  }
  return check;
}

// The whole way once: everything that the checks before it could not foresee shows here.
Check self_test(runtime::RunnerOptions options, std::optional<jail::Enforcement>& limits) {
  asio::thread_pool pool(2);
  auto runner = runtime::Runner::create(pool.get_executor(), std::move(options));
  if (!runner) return self_test_failed(runner.error().message(), {});
  runtime::RunRequest request;
  request.code = "print(42)";
  const auto result = run_once(**runner, pool, std::move(request), {});
  if (!result) return self_test_failed(result.error().message(), {});
  if (result->status != runtime::Status::success || result->standard_output != "42\n") {
    const std::string_view error = result->standard_error;
    return self_test_failed("print(42) ended as " + std::string(to_string(result->status)),
                            std::string(error.substr(0, error.find('\n'))));
  }
  limits = result->enforcement;
  const auto took = result->timings.started + result->timings.ran;
  return {
      .name = "self test",
      .state = Check::State::good,
      .found = "print(42) ran in a jail and took " + std::to_string(took.count() / 1000) + " ms",
      .advice = {}};
}

Check root_failed(const jail::Error& error) {
  return {.name = "root", .state = Check::State::missing, .found = error.message(), .advice = {}};
}

Check check_root(const runtime::ProgramRoot& root) {
  Check check{
      .name = "root", .state = Check::State::good, .found = runtime::describe(root), .advice = {}};
  for (const runtime::Language language : runtime::all_languages) {
    if (const auto why = runtime::why_not_available(language, root)) {
      check.state = Check::State::notice;
      check.advice += (check.advice.empty() ? "" : "; ") + *why;
    }
  }
  if (root.kind == runtime::ProgramRoot::Kind::host) {
    check.advice += (check.advice.empty() ? "" : "; ") + runtime::root_builder() +
                    " builds one that does not depend on this host";
  }
  return check;
}

Check check_users(const OwnUsers& users) {
  Check check{.name = "users", .state = Check::State::notice, .found = {}, .advice = {}};
  if (users.range != nullptr) {
    check.state = Check::State::good;
    check.found = "each jail has one of " + std::to_string(users.range->count()) + " from " +
                  std::to_string(users.range->first_uid()) + " on";
    return check;
  }
  check.found = "all jails have that of this process: " + users.why_none;
  check.advice =
      "SANDBOX_USERS=auto gives each its own where there is a cgroup: as root, or by /etc/subuid "
      "and "
      "newuidmap (Debian: uidmap)";
  return check;
}

int print_speed(const DoctorOptions& options, const jail::Result<HostSpeed>& speed) {
  if (!speed) return fail(exit_own_failure, speed.error().message());
  const Host host = this_host();
  const std::string line = options.format == DoctorOptions::Format::json
                               ? describe_json(host, *speed)
                               : "host: " + describe(host, *speed);
  return print(line + "\n");
}

}  // namespace

bool Diagnosis::jails_run() const {
  return std::none_of(checks.begin(), checks.end(),
                      [](const Check& check) { return check.state == Check::State::missing; });
}

std::string describe(const Diagnosis& diagnosis, const std::string& version, Colours colours) {
  std::string text = "agent-sandbox " + version + "\n";
  for (const Check& check : diagnosis.checks) {
    std::string state(state_word(check.state));
    state.resize(9, ' ');
    std::string name = check.name;
    name.resize(18, ' ');
    text += painted(state, check.state, colours) + name + check.found + "\n";
    if (!check.advice.empty()) text += std::string(27, ' ') + check.advice + "\n";
  }
  if (diagnosis.limits) {
    text += "limits   memory: " + std::string(jail::to_string(diagnosis.limits->memory)) +
            ", pids: " + std::string(jail::to_string(diagnosis.limits->processes)) +
            ", cpu: " + std::string(jail::to_string(diagnosis.limits->cpu)) + "\n";
  }
  text += diagnosis.jails_run() ? "Jails can run here.\n" : "Jails cannot run here.\n";
  return text;
}

std::string describe_json(const Diagnosis& diagnosis, const std::string& version) {
  runtime::json::Writer writer;
  writer.begin_object().key("version").string(version);
  writer.key("jails_run").boolean(diagnosis.jails_run());
  writer.key("checks").begin_array();
  for (const Check& check : diagnosis.checks) {
    writer.begin_object().key("name").string(check.name);
    writer.key("state").string(state_word(check.state)).key("found").string(check.found);
    writer.key("advice").string(check.advice).end_object();
  }
  writer.end_array().key("host_speed");
  if (diagnosis.speed) {
    writer.json(describe_json(diagnosis.host, *diagnosis.speed));
  } else {
    writer.null();
  }
  writer.key("limits");
  if (diagnosis.limits) {
    writer.begin_object().key("memory").string(jail::to_string(diagnosis.limits->memory));
    writer.key("pids").string(jail::to_string(diagnosis.limits->processes));
    writer.key("cpu").string(jail::to_string(diagnosis.limits->cpu)).end_object();
  } else {
    writer.null();
  }
  writer.end_object();
  return std::move(writer).take() + "\n";
}

int doctor(const DoctorOptions& options, runtime::Environment environment,
           const std::string& version) {
  // Before anything has made this process larger.
  const jail::Result<HostSpeed> speed = measure_host_speed();
  if (options.extent == DoctorOptions::Extent::speed) return print_speed(options, speed);
  StartFailures failures;
  const auto started =
      start({.host = options.host, .environment = std::move(environment)}, &failures);
  if (!started) return fail_to_start(started.error().message());
  Diagnosis diagnosis;
  const HostFiles files;
  diagnosis.host = this_host();
  if (speed) diagnosis.speed = *speed;
  diagnosis.checks = check_host(files);
  diagnosis.checks.push_back(check_speed(diagnosis.host, speed));
  diagnosis.checks.push_back(check_cgroup(
      failures.cgroup ? jail::Result<runtime::CgroupChoice>(*failures.cgroup) : started->cgroup));
  for (Check& check : check_surface(files)) diagnosis.checks.push_back(std::move(check));
  if (failures.config) {
    diagnosis.checks.push_back({.name = "configuration",
                                .state = Check::State::missing,
                                .found = failures.config->message(),
                                .advice = "defaults are used below"});
  }
  diagnosis.checks.push_back(failures.root ? root_failed(*failures.root)
                                           : check_root(started->root));
  diagnosis.checks.push_back(check_users(started->users));
  if (!failures.root) {
    diagnosis.checks.push_back(self_test(runner_options(*started), diagnosis.limits));
  }
  const std::string text =
      options.format == DoctorOptions::Format::json
          ? describe_json(diagnosis, version)
          : describe(diagnosis, version, colours_on(STDOUT_FILENO, started->environment));
  const int failed = print(text);
  return failed != 0 ? failed : diagnosis.jails_run() ? 0 : 1;
}

}  // namespace server
