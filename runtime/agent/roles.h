// The roles that a model can have: each has a prompt of its own and a contract for its answer.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "jail/result.h"
#include "runtime/agent/task.h"
#include "runtime/json/reader.h"
#include "runtime/llm/chat.h"

namespace runtime::agent {

enum class Role : std::uint8_t {
  coder,      // writes the program
  critic,     // says why a program failed and what to do
  tester,     // writes tests before there is a program
  architect,  // plans, for a swarm
  reviewer,   // reads a program before it runs, for a swarm; votes as "critic"
  security,   // as the reviewer, from an attacker's view
  optimizer,  // makes a reviewed program simpler or faster
};

std::string_view name_of(Role role) noexcept;

// The text of prompts/<role>.md.
std::string_view prompt_of(Role role);

// The schema of an answer: every property is required, others are forbidden.
llm::AnswerSchema contract_of(Role role);

// The answer of a role; only the fields of that role are set.
struct Answer {
  std::string code;                       // coder, optimizer (empty: the program stays as it is)
  std::string reasoning;                  // coder, tester
  std::vector<std::string> dependencies;  // coder
  std::string tests;                      // tester
  std::string plan;                       // architect
  std::vector<std::string> findings;      // reviewer, security, optimizer; an architect's pitfalls
  bool approves = false;                  // reviewer, security, optimizer
  double confidence = 0;                  // 0 .. 1: reviewer, security, optimizer, critic
  Critique critique;                      // critic
};

// Parses the model's answer. From a coder or tester a program alone, fenced or bare, is enough.
// Errors: invalid; `doing` tells the model what was wrong.
jail::Result<Answer> read_answer(Role role, std::string_view text);

}  // namespace runtime::agent
