#include "parent/invocation.h"

#include "child/wire.h"
#include "parent/sealed_file.h"
#include "plan/check_spec.h"
#include "plan/concerns.h"

namespace jail {

Result<Fd> invocation_file(const std::vector<std::string>& argv,
                           const std::vector<std::string>& env, const Network& network) {
  std::string texts;
  const auto append = [&texts](const std::string& text) { texts.append(text).push_back('\0'); };
  for (const std::string& argument : argv) {
    if (argument.find('\0') != argument.npos) return invalid("argv: an argument with a NUL in it");
    append(argument);
  }
  const std::vector<std::string> variables = with_way_out(env, network);
  if (Result<void> checked = check_environment(variables); !checked) return checked.error();
  for (const std::string& variable : variables) append(variable);
  wire::Invocation head{};
  head.magic = wire::plan_magic;
  head.arguments = static_cast<std::uint32_t>(argv.size());
  head.variables = static_cast<std::uint32_t>(variables.size());
  head.bytes = static_cast<std::uint32_t>(texts.size());
  return sealed_file("jail-invocation",
                     std::string(reinterpret_cast<const char*>(&head), sizeof head) + texts,
                     SealedUse::read);
}

}  // namespace jail
