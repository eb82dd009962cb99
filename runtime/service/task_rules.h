// Which providers a task may name, and why the others cannot be used.
#pragma once

#include <string>
#include <vector>

#include "runtime/config/config.h"
#include "runtime/service/request_rules.h"

namespace runtime {

// What to set so that tasks are taken, for a person; empty where they are.
std::string why_no_task(const Config& config);

// `providers`: the names of those that can be asked.
TaskRules task_rules(const Config& config, const std::vector<std::string>& providers);

// "expected one of anthropic, groq".
std::string unknown_provider(const TaskRules& rules);

// Why a task that names `provider` is not taken; empty: it is.
std::string why_not_provider(const TaskRules& rules, const std::string& provider);

}  // namespace runtime
