// What a model is told: the task, everything that was tried, and what is wanted of it now.
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

// Something to read: a plan, findings, a program under review.
struct Passage {
  std::string title;
  std::string text;
};

// What a prompt is made of. What is pointed at is only looked at.
struct Brief {
  Role role = Role::coder;
  const TaskRequest* request = nullptr;
  const std::vector<Attempt>* history = nullptr;
  const std::vector<Lesson>* lessons = nullptr;
  std::string tests;  // that the model wrote; those of the caller are never shown
  std::vector<Passage> passages;
  std::string wanted;  // our words: what to do now
};

struct Prompt {
  std::string system;
  std::string user;
  std::string mark;  // what begins and ends data in it

  std::uint64_t tokens() const noexcept;  // estimated
};

// By four bytes a token, about what English text and programs come to.
std::uint64_t estimate_tokens(std::size_t bytes) noexcept;

// Within budget.prompt_tokens: older attempts are shortened before younger ones, then left out,
// then the lessons go; the task, the tests and the passages are there whatever they take.
Prompt compose(const Brief& brief);

// How a run ended, in words: "the program ended with exit status 1 (failed)". Made of what the jail
// reported alone.
std::string verdict_of(const RunResult& result);

}  // namespace runtime::agent
