// The permissions of an API key, by the names with which an operator configures them.
#pragma once

#include <cstdint>
#include <initializer_list>
#include <optional>
#include <string_view>

namespace runtime {

enum class Scope : std::uint8_t {
  execute,    // run programs and tasks, cancel their jobs, forget what tasks taught
  sandboxes,  // make, change and use sandboxes with all their contents, and volumes and webhooks
  read,       // read what its tenant owns, without changing anything
  metrics,    // read the figures of the whole server
};

inline constexpr Scope all_scopes[] = {Scope::execute, Scope::sandboxes, Scope::read,
                                       Scope::metrics};

// Returns a name such as "execute".
std::string_view name_of(Scope scope) noexcept;

// A set of scopes, initially empty.
class Scopes {
 public:
  constexpr Scopes() = default;
  constexpr Scopes(std::initializer_list<Scope> scopes) {
    for (const Scope scope : scopes) add(scope);
  }
  static constexpr Scopes all() {
    Scopes scopes;
    for (const Scope scope : all_scopes) scopes.add(scope);
    return scopes;
  }

  constexpr void add(Scope scope) { bits_ |= bit(scope); }
  constexpr bool has(Scope scope) const { return (bits_ & bit(scope)) != 0; }
  friend constexpr bool operator==(Scopes, Scopes) = default;

 private:
  static constexpr unsigned bit(Scope scope) { return 1u << static_cast<unsigned>(scope); }

  unsigned bits_ = 0;
};

// Parses "all", or distinct names joined by "+": "execute+read". Returns std::nullopt for any other
// text.
std::optional<Scopes> scopes_named(std::string_view text);

}  // namespace runtime
