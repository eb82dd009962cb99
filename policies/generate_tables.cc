// Build-time tool: reads a policy file and writes the C++ source of two functions in namespace
// jail, of which one returns the policy and the other its BPF program, so that libjail carries its
// policies without a JSON parser and does not compile them at each start.
#include <fstream>
#include <iostream>
#include <iterator>
#include <sstream>

#include "policy/policy_program.h"
#include "runtime/policy/policy_json.h"

namespace {

constexpr const char* preamble = R"(// Generated from a policy file; do not edit.
#include "jail/policy.h"

#include <array>
#include <cstddef>

#include "policy/policy_program.h"

namespace jail {
namespace {

// Plain rows, so that the compiled-in policy is read-only data until somebody asks for it.
struct Row {
  const char* syscall;
  Decision decision;
  std::size_t test_count;
  std::array<ArgumentTest, max_tests> tests;
  const char* why;
};

)";

constexpr const char* epilogue = R"(
Policy build() {
  Policy policy{name, otherwise, {}};
  policy.rules.reserve(sizeof rows / sizeof rows[0]);
  for (const Row& row : rows) {
    const auto first = row.tests.begin();
    policy.rules.push_back(
        {row.syscall, row.decision, {first, first + row.test_count}, row.why});
  }
  return policy;
}

}  // namespace

const Policy& FUNCTION() {
  static const Policy policy = build();
  return policy;
}

std::span<const std::uint64_t> FUNCTION_program() noexcept { return program; }

}  // namespace jail
)";

// Characters that are not plain ASCII become octal escapes: unlike hexadecimal ones they end after
// three digits.
std::string literal(const std::string& text) {
  std::string out = "\"";
  for (const char c : text) {
    const auto byte = static_cast<unsigned char>(c);
    if (byte >= 0x20 && byte < 0x7f && c != '"' && c != '\\' && c != '?') {
      out += c;
    } else {
      out += '\\';
      for (const int shift : {6, 3, 0}) out += static_cast<char>('0' + ((byte >> shift) & 7));
    }
  }
  return out + "\"";
}

std::string initializer(const jail::Decision& decision) {
  switch (decision.verdict) {
    case jail::Verdict::allow:
      return "{Verdict::allow, 0}";
    case jail::Verdict::error:
      return "{Verdict::error, " + std::to_string(decision.error_number) + "}";
    case jail::Verdict::kill:
      break;
  }
  return "{Verdict::kill, 0}";
}

std::string initializer(const jail::ArgumentTest& test) {
  const bool equal = test.op == jail::ArgumentTest::Op::equal;
  return "ArgumentTest{" + std::to_string(test.argument) +
         (equal ? ", ArgumentTest::Op::equal, " : ", ArgumentTest::Op::not_equal, ") +
         std::to_string(test.mask) + "u, " + std::to_string(test.value) + "u}";
}

std::string row(const jail::Rule& rule) {
  std::string tests;
  for (const jail::ArgumentTest& test : rule.tests) {
    tests += (tests.empty() ? "" : ", ") + initializer(test);
  }
  return "    {" + literal(rule.syscall) + ", " + initializer(rule.decision) + ", " +
         std::to_string(rule.tests.size()) + ", {" + tests + "}, " + literal(rule.why) + "},\n";
}

// Returns `text` with `name` in every place of `place`, which `name` does not contain.
std::string filled(std::string text, std::string_view place, std::string_view name) {
  for (std::size_t at = 0; (at = text.find(place, at)) != text.npos; at += name.size()) {
    text.replace(at, place.size(), name);
  }
  return text;
}

std::string source(const jail::Policy& policy, const std::vector<std::uint64_t>& program,
                   std::string_view function) {
  std::size_t max_tests = 1;
  for (const jail::Rule& rule : policy.rules) max_tests = std::max(max_tests, rule.tests.size());
  std::string text = filled(preamble, "max_tests", std::to_string(max_tests));
  text += "constexpr const char* name = " + literal(policy.name) + ";\n";
  text += "constexpr Decision otherwise = " + initializer(policy.otherwise) + ";\n";
  text += "constexpr Row rows[] = {\n";
  for (const jail::Rule& rule : policy.rules) text += row(rule);
  text += "};\nconstexpr std::uint64_t program[] = {\n";
  for (const std::uint64_t instruction : program) text += std::to_string(instruction) + "u,\n";
  return text + "};\n" + filled(epilogue, "FUNCTION", function);
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 4) {
    std::cerr << "usage: generate_tables POLICY.json FUNCTION OUTPUT.cc\n";
    return 2;
  }
  std::ifstream in(argv[1], std::ios::binary);
  std::stringstream document;
  document << in.rdbuf();
  if (!in || !document) {
    std::cerr << argv[1] << ": cannot be read\n";
    return 1;
  }
  const auto policy = runtime::policy::parse_policy(document.str(), argv[1]);
  if (!policy) {
    std::cerr << policy.error().message() << "\n";
    return 1;
  }
  const auto program = jail::program_of(*policy);
  if (!program) {
    std::cerr << program.error().message() << "\n";
    return 1;
  }
  std::ofstream out(argv[3], std::ios::binary | std::ios::trunc);
  out << source(*policy, *program, argv[2]) << std::flush;
  if (!out) {
    std::cerr << argv[3] << ": cannot be written\n";
    return 1;
  }
  return 0;
}
