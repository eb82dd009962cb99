#include "runtime/sandbox/warm_fit.h"

#include <algorithm>

#include "runtime/sandbox/language.h"

namespace runtime {
namespace {

constexpr std::string_view names[] = {
    "LANG",       "LANGUAGE",           "TZ", "TZDIR", "HOME", "PATH", "LOCPATH", "NLSPATH", "TERM",
    "MPLBACKEND", "__PYVENV_LAUNCHER__"};
constexpr std::string_view prefixes[] = {"PYTHON", "LD_",       "LC_",   "MALLOC_", "GLIBC_",
                                         "GCONV_", "OPENSSL_",  "SSL_",  "OMP_",    "GOMP_",
                                         "KMP_",   "GOTO_",     "BLIS_", "MKL_",    "MPL",
                                         "NUMPY_", "OPENBLAS_", "NPY_",  "NUMEXPR_"};

// Bash reads a script from a pipe byte by byte: for this many bytes that takes as long as bash
// takes to start.
constexpr std::size_t max_script_bytes = 4096;

// Returns whether a bash that was started some time ago, and reads its script from a pipe, does
// what a new one does with a file. It looks for a NUL only in a file, and SECONDS counts from its
// start.
bool suits_waiting_bash(const RunRequest& request) {
  const auto counts_seconds = [](std::string_view text) {
    return text.find("SECONDS") != text.npos;
  };
  return request.code.size() <= max_script_bytes && request.code.find('\0') == request.code.npos &&
         !counts_seconds(request.code) &&
         std::ranges::none_of(request.files,
                              [&](const InputFile& file) { return counts_seconds(file.content); });
}

// Returns whether a node that waits at `waits_at` would take a file that comes with the program, or
// a directory, for the program itself, which has another name.
bool is_mistaken(const RunRequest& request, const std::string& waits_at) {
  return program_file_of(request) != waits_at &&
         std::ranges::any_of(request.files, [&](const InputFile& file) {
           return file.path == waits_at || file.path.starts_with(waits_at + "/");
         });
}

bool suits_waiting_interpreter(const RunRequest& request) {
  if (request.language == Language::javascript) return !is_mistaken(request, "main.js");
  return request.language != Language::bash || suits_waiting_bash(request);
}

// Empty: it is not set, or to nothing.
std::string_view value_of(const std::vector<std::string>& env, std::string_view name) {
  for (const std::string_view variable : env) {
    if (variable.size() > name.size() && variable.starts_with(name) &&
        variable[name.size()] == '=') {
      return variable.substr(name.size() + 1);
    }
  }
  return {};
}

}  // namespace

bool is_read_at_start(std::string_view variable) noexcept {
  return std::find(std::begin(names), std::end(names), variable) != std::end(names) ||
         std::any_of(std::begin(prefixes), std::end(prefixes),
                     [&](std::string_view prefix) { return variable.starts_with(prefix); });
}

WarmFit warm_fit(const jail::TemplateSpec& spec, const RunRequest& request,
                 std::chrono::milliseconds cpu) {
  if (std::uint64_t{request.memory_limit_mb} << 20 > spec.max_memory_bytes) return WarmFit::cold;
  if (request.network.kind != spec.jail.network.kind) return WarmFit::cold;
  if (request.network.kind == jail::Network::Kind::egress) return WarmFit::cold;
  if (cpu > spec.max_cpu || !request.file_name.empty()) return WarmFit::cold;
  if (request.max_processes || request.disk_limit_mb) return WarmFit::cold;
  const bool same_env = request.env.empty() || environment_of(request) == spec.jail.env;
  const bool is_started = spec.warmth == jail::Warmth::started;
  const auto arguments = is_started ? waiting_arguments_of(request) : arguments_of(request);
  const bool suits = !is_started || suits_waiting_interpreter(request);
  if (same_env && arguments == spec.jail.argv && suits) return WarmFit::lease;
  if (spec.warmth != jail::Warmth::forked) return WarmFit::cold;
  const bool fits =
      may_have_variables(spec.jail.env, !spec.imports.empty(), environment_of(request));
  return fits ? WarmFit::launch : WarmFit::cold;
}

bool may_have_variables(const std::vector<std::string>& at_start, bool has_imports,
                        const std::vector<std::string>& wanted) {
  return std::all_of(wanted.begin(), wanted.end(), [&](const std::string& variable) {
    if (std::find(at_start.begin(), at_start.end(), variable) != at_start.end()) return true;
    // Modules may read any variable when they are imported.
    if (has_imports) return false;
    return !is_read_at_start(std::string_view(variable).substr(0, variable.find('=')));
  });
}

std::string user_packages_of(const std::vector<std::string>& env) {
  std::string base(value_of(env, "PYTHONUSERBASE"));
  if (base.empty()) base = std::string(value_of(env, "HOME")) + "/.local";
  // What is in the root was there when the template's interpreter started.
  if (!base.starts_with("/tmp/") && !base.starts_with("/workspace/")) return {};
  return base + "/lib";
}

}  // namespace runtime
