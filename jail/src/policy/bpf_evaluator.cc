#include "policy/bpf_evaluator.h"

#include <algorithm>
#include <bit>
#include <cstring>
#include <string>
#include <string_view>

namespace jail {
namespace {

bool is_return(const sock_filter& instruction) {
  return instruction.code == (BPF_RET | BPF_K) || instruction.code == (BPF_RET | BPF_A);
}

// Returns the fault of one instruction; empty where there is none. `below` counts the instructions
// that follow it: jumps only go forward, and not past the end.
std::string_view fault_of(const sock_filter& instruction, std::size_t below) {
  const std::uint32_t k = instruction.k;
  switch (instruction.code) {
    case BPF_RET | BPF_K:
    case BPF_RET | BPF_A:
    case BPF_LD | BPF_IMM:
    case BPF_ALU | BPF_ADD | BPF_K:  // NOLINT(misc-redundant-expression): both are 0
    case BPF_ALU | BPF_SUB | BPF_K:
    case BPF_ALU | BPF_MUL | BPF_K:
    case BPF_ALU | BPF_AND | BPF_K:
    case BPF_ALU | BPF_OR | BPF_K:
    case BPF_ALU | BPF_XOR | BPF_K:
    case BPF_ALU | BPF_NEG:
      return {};
    case BPF_ALU | BPF_DIV | BPF_K:
      return k == 0 ? "division by zero" : "";
    case BPF_ALU | BPF_LSH | BPF_K:
    case BPF_ALU | BPF_RSH | BPF_K:
      return k >= 32 ? "shift by 32 or more" : "";
    case BPF_LD | BPF_W | BPF_ABS:
      return k % 4 != 0 || k >= sizeof(seccomp_data) ? "load outside struct seccomp_data" : "";
    case BPF_JMP | BPF_JA:
      return k >= below ? "jump past the end" : "";
    case BPF_JMP | BPF_JEQ | BPF_K:
    case BPF_JMP | BPF_JGT | BPF_K:
    case BPF_JMP | BPF_JGE | BPF_K:
    case BPF_JMP | BPF_JSET | BPF_K:
      return std::max(instruction.jt, instruction.jf) >= below ? "jump past the end" : "";
    default:
      return "not an instruction that a policy compiles to";
  }
}

Error malformed(std::size_t at, std::string_view what) {
  std::string text = "BPF instruction " + std::to_string(at) + ": ";
  return {ErrorKind::invalid, text.append(what), 0, {}};
}

std::uint32_t loaded(const seccomp_data& call, std::uint32_t offset) {
  std::uint32_t word = 0;
  std::memcpy(&word, reinterpret_cast<const char*>(&call) + offset, sizeof word);
  return word;
}

std::uint32_t computed(std::uint16_t code, std::uint32_t a, std::uint32_t k) {
  switch (BPF_OP(code)) {
    case BPF_ADD:
      return a + k;
    case BPF_SUB:
      return a - k;
    case BPF_MUL:
      return a * k;
    case BPF_DIV:
      return a / k;
    case BPF_AND:
      return a & k;
    case BPF_OR:
      return a | k;
    case BPF_XOR:
      return a ^ k;
    case BPF_LSH:
      return a << k;
    case BPF_RSH:
      return a >> k;
    default:
      return 0 - a;  // BPF_NEG
  }
}

std::uint32_t distance(const sock_filter& jump, std::uint32_t a) {
  bool holds = false;
  switch (BPF_OP(jump.code)) {
    case BPF_JA:
      return jump.k;
    case BPF_JEQ:
      holds = a == jump.k;
      break;
    case BPF_JGT:
      holds = a > jump.k;
      break;
    case BPF_JGE:
      holds = a >= jump.k;
      break;
    default:
      holds = (a & jump.k) != 0;  // BPF_JSET
      break;
  }
  return holds ? jump.jt : jump.jf;
}

}  // namespace

// The whole program is checked, including what no call reaches, as the kernel does.
Result<BpfEvaluator> BpfEvaluator::load(const FilterProgram& filter) {
  const std::size_t size = filter.instructions.size();
  if (size == 0 || size > BPF_MAXINSNS) return malformed(0, "a program has 1 .. 4096 of them");
  std::vector<sock_filter> program;
  program.reserve(size);
  for (const std::uint64_t word : filter.instructions) {
    program.push_back(std::bit_cast<sock_filter>(word));
    const std::size_t at = program.size() - 1;
    const auto fault = fault_of(program.back(), size - at - 1);
    if (!fault.empty()) return malformed(at, fault);
  }
  if (!is_return(program.back())) return malformed(size - 1, "the program ends without a return");
  return BpfEvaluator(std::move(program));
}

Evaluation BpfEvaluator::run(const seccomp_data& call) const {
  std::uint32_t accumulator = 0;
  std::size_t executed = 1;
  auto at = program_.begin();
  for (; !is_return(*at); ++at, ++executed) {
    switch (BPF_CLASS(at->code)) {
      case BPF_LD:
        accumulator = BPF_MODE(at->code) == BPF_IMM ? at->k : loaded(call, at->k);
        break;
      case BPF_ALU:
        accumulator = computed(at->code, accumulator, at->k);
        break;
      default:
        at += distance(*at, accumulator);  // BPF_JMP
        break;
    }
  }
  return {at->code == (BPF_RET | BPF_A) ? accumulator : at->k, executed};
}

}  // namespace jail
