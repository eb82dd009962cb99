// The range of ids that this test program has entered.
#pragma once

#include <memory>
#include <string>

#include "jail/id_range.h"

namespace kernel_ring {

// Null where this host gives it none; `why` then says so.
const std::shared_ptr<const jail::IdRange>& own_ids();
const std::string& why_no_ids();

}  // namespace kernel_ring
