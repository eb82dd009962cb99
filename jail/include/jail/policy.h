// Which system calls a guest may make. A Policy is a plain value: an allow-list of rules, each with
// the reason why it is there. compile_policy() turns it into the BPF program that the kernel loads.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "jail/result.h"

namespace jail {

// The outcome of a system call.
enum class Verdict : std::uint8_t {
  allow,
  error,  // the call returns -1 with `error_number`
  kill,   // the whole process dies of SIGSYS
};

// A verdict with its parameter.
struct Decision {
  Verdict verdict = Verdict::error;
  int error_number = 0;  // only with Verdict::error

  bool operator==(const Decision&) const = default;
};

// One condition on one argument. Only the low 32 bits are compared, since for every argument that a
// rule looks at (flags, domains, commands, pids) the kernel itself truncates to int.
struct ArgumentTest {
  // How the argument compares.
  enum class Op : std::uint8_t {
    equal,      // (arg & mask) == value
    not_equal,  // (arg & mask) != value
  };
  std::uint8_t argument = 0;  // 0 .. 5
  Op op = Op::equal;
  std::uint32_t mask = 0xffffffff;
  std::uint32_t value = 0;

  bool operator==(const ArgumentTest&) const = default;
};

// A rule with tests decides the calls for which all its tests hold; several rules may name the same
// call. A rule without tests decides the remaining calls; where there is none, Policy::otherwise
// decides them. The order of the rules means nothing: rules that could disagree are refused.
struct Rule {
  std::string syscall;
  Decision decision;
  std::vector<ArgumentTest> tests;
  std::string why;  // never empty: the loader and compile_policy() reject a rule without one

  bool operator==(const Rule&) const = default;
};

// A name for messages, the rules, and the decision on all other calls.
struct Policy {
  std::string name;
  // For calls that no rule names: ENOSYS, so that programs fall back instead of failing. Never
  // allow.
  Decision otherwise{Verdict::error, 38};
  std::vector<Rule> rules;

  bool operator==(const Policy&) const = default;
};

// The policy that ships with the library, compiled in from policies/default.json.
const Policy& default_policy();

// Returns `base` with more rules. A rule with tests joins the rules of its call, and
// compile_policy() refuses it where they could disagree; a rule without tests decides its whole
// call and replaces all that `base` says about it. The name of the result says that there are more
// rules. Thread-safe.
Policy with_rules(Policy base, const std::vector<Rule>& added);

// The rules that shells and full-screen programs need for a terminal of the jail's own, beyond
// default_policy(): to move a job into the foreground, and to set the size. For with_rules(), where
// processes get terminals (ProcessSpec::terminal). Thread-safe.
std::vector<Rule> terminal_rules();

// Something that a policy permits and default_policy() may not.
struct LooserRule {
  std::string syscall;
  std::string
      what;         // "allow", "allow where argument 0 & 0xf is 0x2", "lacks the refusal where ..."
  std::string why;  // the reason of the rule; for a refusal that is missing, the reason that it had
};

// A loadable seccomp-bpf program: each element is one `struct sock_filter` (linux/filter.h).
struct FilterProgram {
  std::vector<std::uint64_t> instructions;
  // The facts that compile_policy() keeps for Launcher::explain(): the policy's name, its rules
  // that allow something and are not default_policy()'s, and the refusals that it lacks.
  std::string policy = {};
  std::vector<LooserRule> looser = {};
};

// Calls for another architecture (32-bit int 0x80, x32) kill the process, whatever the rules say.
// Errors: ErrorKind::invalid names the rule (unknown call name, empty why, bad argument index,
// contradicting rules). Thread-safe.
Result<FilterProgram> compile_policy(const Policy& policy);

}  // namespace jail
