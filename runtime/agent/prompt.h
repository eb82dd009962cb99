// The prompt for a model: the task, everything that was tried, and what the model is to do now.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "runtime/agent/lessons.h"
#include "runtime/agent/roles.h"
#include "runtime/agent/task.h"

namespace runtime::agent {

// A text for the model to read: a plan, findings, a program under review.
struct Passage {
  std::string title;
  std::string text;
};

// The parts of a prompt. The pointers must stay valid during the call; nothing is changed through
// them.
struct Brief {
  Role role = Role::coder;
  const TaskRequest* request = nullptr;
  const std::vector<Attempt>* history = nullptr;
  const std::vector<Lesson>* lessons = nullptr;
  std::string tests;  // written by the model; a caller's own tests are never shown
  std::vector<Passage> passages;
  std::string wanted;  // our instruction: what to do now
};

struct Prompt {
  std::string system;
  std::string user;
  std::string mark;  // the mark around data in the text

  std::uint64_t tokens() const noexcept;  // an estimate
};

// Counts four bytes a token, which is about right for English text and programs.
std::uint64_t estimate_tokens(std::size_t bytes) noexcept;

// Keeps to budget.prompt_tokens: older attempts are shortened before younger ones, then left out,
// then the lessons are left out. The task, the tests and the passages always stay.
Prompt compose(const Brief& brief);

// How a run ended, in words: "the program ended with exit status 1 (failed)". Derived only from the
// jail's report.
std::string verdict_of(const RunResult& result);

}  // namespace runtime::agent
