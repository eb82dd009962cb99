#include "runtime/config/scope.h"

#include <algorithm>

namespace runtime {
namespace {

std::optional<Scope> scope_named(std::string_view name) {
  for (const Scope scope : all_scopes) {
    if (name == name_of(scope)) return scope;
  }
  return std::nullopt;
}

}  // namespace

std::string_view name_of(Scope scope) noexcept {
  switch (scope) {
    case Scope::execute:
      return "execute";
    case Scope::sandboxes:
      return "sandboxes";
    case Scope::read:
      return "read";
    case Scope::metrics:
      break;
  }
  return "metrics";
}

std::optional<Scopes> scopes_named(std::string_view text) {
  if (text == "all") return Scopes::all();
  Scopes scopes;
  while (true) {
    const std::size_t plus = std::min(text.find('+'), text.size());
    const auto scope = scope_named(text.substr(0, plus));
    if (!scope || scopes.has(*scope)) return std::nullopt;
    scopes.add(*scope);
    if (plus == text.size()) return scopes;
    text.remove_prefix(plus + 1);
  }
}

}  // namespace runtime
