// Runs a seccomp filter in user space, as the kernel would, so that a test can ask what a program
// does with any call on any architecture without making one.
#pragma once

#include <linux/filter.h>
#include <linux/seccomp.h>

#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

#include "jail/policy.h"

namespace jail {

struct Evaluation {
  std::uint32_t action = 0;      // SECCOMP_RET_* including its low 16 bits
  std::size_t instructions = 0;  // executed, the return included
};

class BpfEvaluator {
 public:
  // Errors: ErrorKind::invalid for a program that the kernel would not load (an instruction that
  // seccomp does not permit, a jump or a load out of bounds, no return at the end).
  static Result<BpfEvaluator> load(const FilterProgram& filter);

  Evaluation run(const seccomp_data& call) const;

 private:
  explicit BpfEvaluator(std::vector<sock_filter> program) : program_(std::move(program)) {}

  std::vector<sock_filter> program_;  // has passed load()'s checks
};

}  // namespace jail
