// The proxy's answers to the client program.
#pragma once

#include <string>

#include "egress/request.h"

namespace jail::egress {

// The answer that the way is open; empty where the other side's own answer says so.
std::string go_ahead(Protocol protocol);

// `asked` is the destination as it was written; it may be empty.
std::string refusal_text(const Refusal& refusal, const std::string& asked);
std::string answer(Protocol protocol, const Refusal& refusal, const std::string& asked);

}  // namespace jail::egress
