#include "runtime/service/principal.h"

namespace runtime {

std::optional<Refusal> missing_scope(const Principal& principal, Scope scope) {
  if (principal.may(scope)) return std::nullopt;
  return Refusal{.reason = Refusal::Reason::forbidden,
                 .detail = "this key lacks the scope \"" + std::string(name_of(scope)) + "\"",
                 .remedy =
                     "show a key that has it, or ask the operator to add it to this one in "
                     "API_KEY_SCOPES",
                 .code = "missing_scope"};
}

}  // namespace runtime
