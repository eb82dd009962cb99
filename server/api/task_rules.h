// Which providers a task may name, and why the others cannot be used.
#pragma once

#include <string>

#include "runtime/config/config.h"
#include "server/api/decode_execute.h"

namespace server {

// Empty where a provider is configured; else the variable to set.
std::string why_no_task(const runtime::Config& config);

// The same for a task that names a provider; empty as name: it names none.
std::string why_no_provider(const runtime::Config& config, const std::string& name);

TaskRules task_rules(const runtime::Config& config);

}  // namespace server
