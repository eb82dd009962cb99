#include "runtime/refusals/refusal.h"

namespace runtime {

std::string_view remedy_of(const Refusal& refusal) noexcept {
  return refusal.remedy.empty() ? kind_of(refusal.code).remedy : refusal.remedy;
}

void write_refusal(json::Writer& writer, const Refusal& refusal) {
  writer.key("detail").string(refusal.detail).key("code").string(name_of(refusal.code));
  if (refusal.limit) writer.key("limit").number(*refusal.limit);
  if (refusal.used) writer.key("used").number(*refusal.used);
  if (const auto remedy = remedy_of(refusal); !remedy.empty()) writer.key("remedy").string(remedy);
}

}  // namespace runtime
