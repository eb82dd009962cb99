// The providers that a task may name, and why the others cannot be used.
#pragma once

#include <string>
#include <vector>

#include "runtime/config/config.h"
#include "runtime/service/request_rules.h"

namespace runtime {

// Says which settings are needed for tasks to be accepted, for a person; empty where they are.
std::string why_no_task(const Config& config);

// `providers` are the names of those that can be asked.
TaskRules task_rules(const Config& config, const std::vector<std::string>& providers);

// Returns a text such as "expected one of anthropic, groq".
std::string unknown_provider(const TaskRules& rules);

// Returns why a task that names `provider` is not accepted; empty: it is.
std::string why_not_provider(const TaskRules& rules, const std::string& provider);

}  // namespace runtime
