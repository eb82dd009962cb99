#include "runtime/service/principal.h"

namespace runtime {

std::optional<Refusal> missing_scope(const Principal& principal, Scope scope) {
  if (principal.may(scope)) return std::nullopt;
  return Refusal{RefusalCode::missing_scope,
                 "this key lacks the scope \"" + std::string(name_of(scope)) + "\""};
}

}  // namespace runtime
