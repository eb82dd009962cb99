// Runs a program in a jail that lacks something, for the negative controls: the attacks must
// notice.
//
//   loosened_jail [--warm] [--policy FILE] [--leave-out REGEX]... [--share NAMESPACE]...
//                 --language python|bash --timeout SECONDS --memory MIB PROGRAM [ARGUMENT]...
//
// What the program did goes to standard output as `agent-sandbox exec --json` would say it. Exit
// status 2: the jail could not be made so, with the reason.
#include <linux/sched.h>
#include <signal.h>
#include <string.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <map>
#include <regex>
#include <sstream>
#include <stdexcept>

#include "runtime/json/writer.h"
#include "runtime/policy/policy_json.h"
#include "tests/edited_plan.h"
#include "tests/leave_root.h"
#include "tests/time_scale.h"

namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;

struct Options {
  bool warm = false;
  std::string policy;  // the text of a policy file; empty: the shipped policy
  std::vector<std::string> left_out;
  std::uint64_t shared = 0;  // namespaces that the jail does not get, as clone flags
  std::string interpreter = "/usr/bin/python3";
  double timeout_seconds = 10;
  std::uint64_t memory_mib = 256;
  std::string program;
  std::vector<std::string> arguments;
};

template <class T>
T required(jail::Result<T> result) {
  if (!result) throw std::runtime_error(result.error().message());
  return std::move(*result);
}
void required(jail::Result<void> result) {
  if (!result) throw std::runtime_error(result.error().message());
}

std::string text_of(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  if (!file) throw std::runtime_error("cannot read " + path);
  return {std::istreambuf_iterator<char>(file), {}};
}

std::uint64_t clone_flag_of(const std::string& name) {
  static const std::map<std::string, std::uint64_t> flags = {
      {"net", CLONE_NEWNET}, {"ipc", CLONE_NEWIPC}, {"cgroup", CLONE_NEWCGROUP}};
  return flags.at(name);
}

// Files are read before the process gives up root.
Options options_of(int argc, char** argv) {
  Options options;
  int at = 1;
  for (; at + 1 < argc && argv[at][0] == '-'; ++at) {
    const std::string option = argv[at];
    if (option == "--warm") {
      options.warm = true;
      continue;
    }
    const std::string value = argv[++at];
    if (option == "--policy") {
      options.policy = text_of(value);
    } else if (option == "--leave-out") {
      options.left_out.push_back(value);
    } else if (option == "--share") {
      options.shared |= clone_flag_of(value);
    } else if (option == "--language") {
      options.interpreter = value == "bash" ? "/usr/bin/bash" : "/usr/bin/python3";
    } else if (option == "--timeout") {
      options.timeout_seconds = std::stod(value);
    } else if (option == "--memory") {
      options.memory_mib = std::stoull(value);
    } else {
      throw std::runtime_error("unknown option " + option);
    }
  }
  if (at >= argc) throw std::runtime_error("no program");
  options.program = text_of(argv[at]);
  options.arguments.assign(argv + at + 1, argv + argc);
  return options;
}

void loosen(jail::Plan& plan, const Options& options) {
  plan.clone_flags &= ~options.shared;
  for (const std::string& text : options.left_out) {
    const std::regex pattern(text);
    edited::leave_out(
        plan, [&](const std::string& purpose) { return std::regex_search(purpose, pattern); });
  }
}

// A loosening that matches nothing would make a meaningless control.
void check_fits(const jail::Plan& plan, const Options& options) {
  for (const std::string& text : options.left_out) {
    jail::Plan tried = plan;
    const std::regex pattern(text);
    const std::size_t count = edited::leave_out(
        tried, [&](const std::string& purpose) { return std::regex_search(purpose, pattern); });
    if (count == 0) throw std::runtime_error("no step of the plan fits " + text);
  }
}

jail::JailSpec spec_of(const Options& options) {
  const jail::Policy policy =
      options.policy.empty() ? jail::default_policy()
                             : required(runtime::policy::parse_policy(options.policy, "policy"));
  jail::JailSpec spec;
  spec.argv = {options.interpreter, "/workspace/main"};
  if (!options.warm) {
    spec.argv.insert(spec.argv.end(), options.arguments.begin(), options.arguments.end());
  } else if (!options.arguments.empty()) {
    throw std::runtime_error("a warm jail takes no arguments here");
  }
  spec.env = {"PATH=/usr/bin:/bin", "HOME=/workspace", "LANG=C.UTF-8"};
  spec.root = jail::host_root();
  spec.filter = required(jail::compile_policy(policy));
  spec.limits.wall = milliseconds(static_cast<std::int64_t>(options.timeout_seconds * 1000));
  spec.limits.cpu = spec.limits.wall;
  spec.limits.memory_bytes = options.memory_mib << 20;
  return spec;
}

std::string status_of(const jail::ExitReport& report) {
  switch (report.ended) {
    case jail::Ended::exited:
      return report.exit_code == 0 ? "success" : "error";
    case jail::Ended::timed_out:
      return "timeout";
    case jail::Ended::out_of_memory:
      return "out_of_memory";
    case jail::Ended::violation:
      return "violation";
    default:
      return "killed";
  }
}

std::string report_of(const jail::ExitReport& report, const jail::Output& output) {
  runtime::json::Writer writer;
  writer.begin_object().key("status").string(status_of(report));
  writer.key("exit_code");
  report.ended == jail::Ended::exited ? writer.integer(report.exit_code) : writer.null();
  writer.key("signal");
  report.signal == 0 ? writer.null()
                     : writer.string("SIG" + std::string(::sigabbrev_np(report.signal)));
  writer.key("stdout").string(output.out).key("stderr").string(output.err);
  writer.key("stdout_truncated").boolean(output.out_lost_bytes > 0);
  writer.key("stderr_truncated").boolean(output.err_lost_bytes > 0).end_object();
  return std::move(writer).take();
}

std::string run(jail::Jail jail, const Options& options) {
  required(jail.wait(jail::Phase::ready, scaled(seconds(20))));
  required(jail.write_file("main", options.program, 0644));
  required(jail.start());
  const jail::Output output = required(jail.communicate());
  return report_of(jail.report(), output);
}

std::string run_cold(const jail::Launcher& launcher, const Options& options) {
  const jail::JailSpec spec = spec_of(options);
  jail::Plan plan = required(jail::compile(spec, jail::Launcher::State::of(launcher)->host));
  check_fits(plan, options);
  loosen(plan, options);
  return run(required(edited::launch(launcher, std::move(plan), spec.limits)), options);
}

std::string run_warm(const jail::Launcher& launcher, const Options& options) {
  jail::TemplateSpec spec;
  spec.name = "python";
  spec.jail = spec_of(options);
  const auto edit = [&](jail::Plan& plan) {
    check_fits(plan, options);
    loosen(plan, options);
  };
  auto warm = required(edited::Template::start(launcher, spec, {}, edit));
  required(warm.wait_until_ready(scaled(seconds(30))));
  return run(required(warm.order()), options);
}

}  // namespace

int main(int argc, char** argv) try {
  ::signal(SIGPIPE, SIG_IGN);
  const Options options = options_of(argc, argv);
  if (!leave_root()) throw std::runtime_error("cannot leave root");
  const jail::Launcher launcher = required(jail::Launcher::start());
  const std::string report =
      options.warm ? run_warm(launcher, options) : run_cold(launcher, options);
  std::puts(report.c_str());
  return 0;
} catch (const std::exception& error) {
  std::fprintf(stderr, "loosened_jail: %s\n", error.what());
  return 2;
}
