// The settings of the providers of language models: keys, models, addresses, and the one to ask.
#pragma once

#include <vector>

#include "runtime/config/settings.h"

namespace runtime {

void add_provider_settings(std::vector<Setting>& settings);

}  // namespace runtime
