// The description of a kind of warm jails: a small JSON file. Its format is described in
// rootfs/README.md.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "jail/pool.h"
#include "jail/result.h"
#include "runtime/sandbox/run_request.h"

namespace runtime {

// The number of waiting jails: at first, and the bounds between which the pool adapts.
struct PoolSize {
  std::uint32_t least = 1;
  std::uint32_t usual = 2;  // 0: none ever waits; requests that name the template run cold
  std::uint32_t most = 16;
};

inline constexpr std::uint32_t max_pool_size = 64;

struct Template {
  std::string name;
  Language language = Language::python;
  jail::Warmth warmth = jail::Warmth::prepared;
  std::string rootfs;  // "host" or an absolute path; empty: the server's
  std::string policy;  // an absolute path; empty: the default one
  std::vector<std::string> imports;
  bool automatic = true;  // programs that name no template get it where it fits their imports
  std::string warm_up;
  std::string after_fork;
  std::string rehearsal;
  std::uint32_t memory_limit_mb = 0;  // the most that a warm run may ask for; 0: the ceiling
  PoolSize pool;
};

// Not the name of a template: a request with it wants a jail made for it.
inline constexpr std::string_view no_template = "none";

// `what` names the document in errors, such as "mine.json: pool.least: expected an integer 0 ..
// 64".
jail::Result<Template> parse_template(std::string_view document, std::string_view what);

// The templates of rootfs/templates, linked in.
std::vector<Template> shipped_templates();

// The shipped templates, overridden by each NAME.json of `directory`, in the order of their names.
// An empty string: only the shipped ones. Errors: one line that names the file and the field.
jail::Result<std::vector<Template>> load_templates(const std::string& directory);

// Sets `usual` of the template python, and its bounds to fit; 0: no template keeps jails.
void set_pool_size(std::vector<Template>& templates, std::uint32_t usual);

// The name of the template for `request`: its language's where it names none.
std::string_view template_of(const RunRequest& request) noexcept;

// Returns null where there is none of that name.
const Template* find_template(const std::vector<Template>& templates, std::string_view name);

}  // namespace runtime
