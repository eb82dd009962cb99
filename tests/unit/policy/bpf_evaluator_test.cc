#include "policy/bpf_evaluator.h"

#include <gmock/gmock.h>
#include <linux/filter.h>

#include <bit>

namespace jail {
namespace {

FilterProgram program_of(const std::vector<sock_filter>& instructions) {
  FilterProgram program;
  for (const sock_filter& one : instructions) {
    program.instructions.push_back(std::bit_cast<std::uint64_t>(one));
  }
  return program;
}

constexpr sock_filter load(std::uint32_t offset) {
  return BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offset);
}
constexpr sock_filter alu(int operation, std::uint32_t k) {
  return BPF_STMT(static_cast<__u16>(BPF_ALU | operation | BPF_K), k);
}
constexpr sock_filter jump(int operation, std::uint32_t k, __u8 yes, __u8 no) {
  return BPF_JUMP(static_cast<__u16>(BPF_JMP | operation | BPF_K), k, yes, no);
}
constexpr sock_filter give(std::uint32_t k) { return BPF_STMT(BPF_RET | BPF_K, k); }
constexpr sock_filter give_accumulator() { return BPF_STMT(BPF_RET | BPF_A, 0); }

seccomp_data some_call() {
  return {.nr = 42,
          .arch = 0xc000003e,
          .instruction_pointer = 0x1122334455667788,
          .args = {0xaaaaaaaabbbbbbbb, 1, 2, 3, 4, 0x5555555566666666}};
}

Evaluation evaluation_of(const std::vector<sock_filter>& instructions) {
  const auto evaluator = BpfEvaluator::load(program_of(instructions));
  EXPECT_TRUE(evaluator.has_value()) << evaluator.error().message();
  return evaluator ? evaluator->run(some_call()) : Evaluation{};
}

std::uint32_t result_of(const std::vector<sock_filter>& instructions) {
  return evaluation_of(instructions).action;
}

TEST(BpfEvaluator, LoadsEveryWordOfTheCall) {
  const std::uint32_t words[] = {42, 0xc000003e, 0x55667788, 0x11223344, 0xbbbbbbbb, 0xaaaaaaaa,
                                 1,  0,          2,          0,          3,          0,
                                 4,  0,          0x66666666, 0x55555555};
  static_assert(sizeof words == sizeof(seccomp_data));
  for (std::uint32_t i = 0; i < std::size(words); ++i) {
    EXPECT_EQ(result_of({load(4 * i), give_accumulator()}), words[i]) << i;
  }
}

TEST(BpfEvaluator, Computes) {
  const std::pair<int, std::uint32_t> cases[] = {
      {BPF_ADD, 48}, {BPF_SUB, 36}, {BPF_MUL, 252},     {BPF_DIV, 7}, {BPF_AND, 2},
      {BPF_OR, 46},  {BPF_XOR, 44}, {BPF_LSH, 42 << 6}, {BPF_RSH, 0}, {BPF_NEG, 0u - 42},
  };
  for (const auto& [operation, expected] : cases) {
    EXPECT_EQ(result_of({load(0), alu(operation, 6), give_accumulator()}), expected) << operation;
  }
  EXPECT_EQ(result_of({BPF_STMT(BPF_LD | BPF_IMM, 77), give_accumulator()}), 77u);
}

TEST(BpfEvaluator, Jumps) {
  const auto taken = [](int operation, std::uint32_t k) {
    return result_of({load(0), jump(operation, k, 1, 0), give(0), give(1)}) == 1;
  };
  EXPECT_TRUE(taken(BPF_JEQ, 42));
  EXPECT_FALSE(taken(BPF_JEQ, 43));
  EXPECT_TRUE(taken(BPF_JGT, 41));
  EXPECT_FALSE(taken(BPF_JGT, 42));
  EXPECT_TRUE(taken(BPF_JGE, 42));
  EXPECT_FALSE(taken(BPF_JGE, 43));
  EXPECT_TRUE(taken(BPF_JSET, 8));
  EXPECT_FALSE(taken(BPF_JSET, 4));
  EXPECT_EQ(result_of({BPF_STMT(BPF_JMP | BPF_JA, 1), give(0), give(1)}), 1u);
}

TEST(BpfEvaluator, CountsWhatItExecutes) {
  EXPECT_EQ(evaluation_of({load(0), jump(BPF_JEQ, 42, 1, 0), give(0), give(1)}).instructions, 3u);
}

TEST(BpfEvaluator, RefusesWhatTheKernelWouldNotLoad) {
  const std::pair<std::vector<sock_filter>, const char*> cases[] = {
      {{}, "1 .. 4096"},
      {std::vector<sock_filter>(4097, give(0)), "1 .. 4096"},
      {{load(0)}, "without a return"},
      {{load(2), give(0)}, "load outside"},
      {{load(64), give(0)}, "load outside"},
      {{load(0), jump(BPF_JEQ, 0, 0, 1), give(0)}, "jump past the end"},
      {{load(0), jump(BPF_JEQ, 42, 1, 0), give(0)}, "jump past the end"},
      {{BPF_STMT(BPF_JMP | BPF_JA, 1), give(0)}, "jump past the end"},
      {{BPF_STMT(BPF_JMP | BPF_JA, 0xffffffff), give(0)}, "jump past the end"},
      {{alu(BPF_DIV, 0), give(0)}, "division by zero"},
      {{alu(BPF_LSH, 32), give(0)}, "shift by 32"},
      {{BPF_STMT(BPF_LD | BPF_B | BPF_ABS, 0), give(0)}, "not an instruction"},
      {{BPF_STMT(0xffff, 0), give(0)}, "not an instruction"},
      // Unreachable instructions count as well: the kernel checks the whole program.
      {{give(0), BPF_STMT(0xffff, 0), give(0)}, "instruction 1"},
  };
  for (const auto& [instructions, message] : cases) {
    const auto evaluator = BpfEvaluator::load(program_of(instructions));
    ASSERT_FALSE(evaluator.has_value()) << message;
    EXPECT_THAT(evaluator.error().message(), testing::HasSubstr(message));
  }
}

}  // namespace
}  // namespace jail
