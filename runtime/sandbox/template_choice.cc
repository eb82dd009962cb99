#include "runtime/sandbox/template_choice.h"

#include <algorithm>
#include <cstddef>
#include <string_view>

#include "runtime/sandbox/python_imports.h"

namespace runtime {
namespace {

bool is_choosable(const Template& what) {
  return what.automatic && what.language == Language::python && !what.imports.empty() &&
         what.rootfs.empty() && what.policy.empty();
}

bool has_package(const Template& what, std::string_view package) {
  return std::any_of(what.imports.begin(), what.imports.end(), [&](std::string_view module) {
    return module.substr(0, module.find('.')) == package;
  });
}

// A program with a module file of its own means that module, while a template may already have
// another one of the same name in memory.
bool brings_modules(const RunRequest& request) {
  return std::any_of(request.files.begin(), request.files.end(), [](const InputFile& file) {
    return file.path.ends_with(".py") || file.path.ends_with(".pyc") || file.path.ends_with(".so");
  });
}

}  // namespace

const Template* template_by_imports(const std::vector<Template>& templates,
                                    const RunRequest& request) {
  if (request.language != Language::python || !request.template_name.empty()) return nullptr;
  if (std::none_of(templates.begin(), templates.end(), is_choosable)) return nullptr;
  if (brings_modules(request)) return nullptr;
  const std::vector<std::string_view> packages =
      python_imports(request.imports_from.empty() ? request.code : request.imports_from);
  const Template* best = nullptr;
  std::ptrdiff_t most = 0;
  for (const Template& what : templates) {
    if (!is_choosable(what)) continue;
    const auto covered =
        std::count_if(packages.begin(), packages.end(),
                      [&](std::string_view package) { return has_package(what, package); });
    if (covered > most) {
      best = &what;
      most = covered;
    }
  }
  return best;
}

}  // namespace runtime
