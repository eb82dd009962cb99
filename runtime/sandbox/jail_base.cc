#include "runtime/sandbox/jail_base.h"

#include <string>
#include <utility>

#include "runtime/config/text_file.h"
#include "runtime/policy/policy_json.h"
#include "runtime/sandbox/program_root.h"

namespace runtime {
namespace {

constexpr std::size_t max_policy_bytes = 1u << 20;

}  // namespace

jail::Error in_template(const Template& what, std::string_view field, const jail::Error& error) {
  return {error.kind, "template " + what.name + ": " + std::string(field) + ": " + error.doing,
          error.sys_errno, error.hint};
}

jail::Result<JailBase> jail_base_of(const Template& what, const JailBase& usual) {
  JailBase base = usual;
  if (!what.rootfs.empty()) {
    auto root = find_program_root(what.rootfs, {});
    if (!root) return in_template(what, "rootfs", root.error());
    base.root = root->view;
  }
  if (!what.policy.empty()) {
    const auto text = read_text_file(what.policy, max_policy_bytes);
    if (!text) return in_template(what, "policy", text.error());
    auto rules = policy::parse_policy(*text, what.policy);
    if (!rules) return in_template(what, "policy", rules.error());
    auto filter = jail::compile_policy(*rules);
    if (!filter) return in_template(what, "policy", filter.error());
    base.policy = std::make_shared<const jail::Policy>(std::move(*rules));
    base.filter = std::move(*filter);
  }
  return base;
}

}  // namespace runtime
