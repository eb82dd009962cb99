#include "pool/pool_check.h"

#include <algorithm>
#include <string>

namespace jail {

Result<void> check(const TemplateSpec& spec, const PoolOptions& options) {
  const bool plain = std::all_of(spec.name.begin(), spec.name.end(), [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '-' || c == '_';
  });
  if (spec.name.empty() || spec.name.size() > 32 || !plain) {
    return invalid("template: name \"" + spec.name + "\" is not 1 to 32 of a-z, 0-9, - and _");
  }
  if (spec.warmth == Warmth::forked && spec.jail.argv.size() != 2) {
    return invalid("template: jail.argv of a forked one is an interpreter and a file");
  }
  // Two processes pass through the jail while its guest is forked.
  if (spec.jail.limits.processes < 4) return invalid("template: jail.limits.processes below 4");
  for (const std::string& name : spec.imports) {
    if (name.empty() || name.find('\0') != name.npos) return invalid("template: an empty import");
  }
  for (const std::string* text : {&spec.warm_up, &spec.after_fork, &spec.rehearsal}) {
    if (text->find('\0') != text->npos) return invalid("template: a NUL in its Python");
  }
  if (options.most == 0) return invalid("pool: most is 0");
  if (options.least > options.usual || options.usual > options.most) {
    return invalid("pool: least, usual and most are not in this order");
  }
  if (options.forks_per_zygote == 0) return invalid("pool: forks_per_zygote is 0");
  return {};
}

}  // namespace jail
