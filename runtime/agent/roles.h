// Who a model is asked to be: each role has a prompt of its own and a contract for its answer.
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
  security,   // the same with an attacker's eyes
  optimizer,  // makes a reviewed program simpler or faster
};

std::string_view name_of(Role role) noexcept;

// prompts/<role>.md
std::string_view prompt_of(Role role);

// What an answer must look like: every property required, no others.
llm::AnswerSchema contract_of(Role role);

// What a role answered, of which only its own fields are set.
struct Answer {
  std::string code;                       // coder, optimizer (empty: leave it as it is)
  std::string reasoning;                  // coder, tester
  std::vector<std::string> dependencies;  // coder
  std::string tests;                      // tester
  std::string plan;                       // architect
  std::vector<std::string> findings;      // reviewer, security, optimizer; pitfalls of an architect
  bool approves = false;                  // reviewer, security, optimizer
  double confidence = 0;                  // 0 .. 1: they, and the critic
  Critique critique;                      // critic
};

// From what the model wrote. A coder's or tester's program alone, in a fence or bare, is enough.
// Errors: invalid; `doing` tells the model what was wrong.
jail::Result<Answer> read_answer(Role role, std::string_view text);

}  // namespace runtime::agent
