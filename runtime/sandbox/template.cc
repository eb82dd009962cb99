#include "runtime/sandbox/template.h"

#include <algorithm>
#include <filesystem>
#include <optional>
#include <span>
#include <utility>

#include "runtime/config/text_file.h"
#include "runtime/json/reader.h"
#include "runtime/json/writer.h"
#include "runtime/sandbox/language.h"

extern "C" const char runtime_templates_begin[];
extern "C" const char runtime_templates_end[];

namespace runtime {
namespace {

using jail::Error;
using jail::Result;
using json::Object;
using json::Value;

// The complaint about a field, as in "name: expected ..."; std::nullopt where it is valid.
using Complaint = std::optional<std::string>;

constexpr std::size_t max_file_bytes = 256u << 10;
constexpr std::size_t max_imports = 64;
constexpr std::size_t max_name = 32;
constexpr std::uint32_t min_memory_mb = 32;
constexpr std::uint32_t max_memory_mb = 1u << 20;

bool is_lower_digit_or(char c, std::string_view others) {
  return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || others.find(c) != others.npos;
}

bool is_name(std::string_view text) {
  return !text.empty() && text.size() <= max_name &&
         std::all_of(text.begin(), text.end(), [](char c) { return is_lower_digit_or(c, "-_"); });
}

// Whether `text` is a dotted module name, such as matplotlib.pyplot. The name is inserted into
// Python source, so any other character is refused.
bool is_module(std::string_view text) {
  bool starts = true;
  for (const char c : text) {
    const bool digit = c >= '0' && c <= '9';
    if (c == '.' ? starts
                 : !(is_lower_digit_or(c, "_") || (c >= 'A' && c <= 'Z')) || (starts && digit)) {
      return false;
    }
    starts = c == '.';
  }
  return !starts;
}

bool is_absolute(std::string_view text) {
  return text.size() > 1 && text.front() == '/' && text.find('\0') == text.npos;
}

std::optional<std::uint32_t> integer_in(const Value& value, std::uint32_t low, std::uint32_t high) {
  const auto* integer = value.as_integer();
  if (integer == nullptr || *integer < low || *integer > high) return std::nullopt;
  return static_cast<std::uint32_t>(*integer);
}

struct Field {
  std::string_view name;
  std::string_view expected;
  bool (*read)(const Value&, Template&);
};

template <std::string Template::*member>
bool read_code(const Value& value, Template& into) {
  if (value.as_string() == nullptr || value.as_string()->find('\0') != std::string::npos) {
    return false;
  }
  into.*member = *value.as_string();
  return true;
}

bool read_name(const Value& value, Template& into) {
  if (value.as_string() == nullptr) return false;
  into.name = *value.as_string();
  return is_name(into.name) && into.name != no_template;
}

bool read_language(const Value& value, Template& into) {
  const auto language =
      value.as_string() == nullptr ? std::nullopt : language_named(*value.as_string());
  if (language) into.language = *language;
  return language.has_value();
}

bool read_warmth(const Value& value, Template& into) {
  constexpr std::pair<std::string_view, jail::Warmth> known[] = {
      {"prepared", jail::Warmth::prepared},
      {"started", jail::Warmth::started},
      {"forked", jail::Warmth::forked}};
  for (const auto& [word, warmth] : known) {
    if (value.as_string() == nullptr || *value.as_string() != word) continue;
    into.warmth = warmth;
    return true;
  }
  return false;
}

bool read_rootfs(const Value& value, Template& into) {
  if (value.as_string() == nullptr) return false;
  into.rootfs = *value.as_string();
  return into.rootfs == "host" || is_absolute(into.rootfs);
}

bool read_policy(const Value& value, Template& into) {
  if (value.as_string() == nullptr) return false;
  const std::string& text = *value.as_string();
  if (text != "default") into.policy = text;
  return text == "default" || is_absolute(text);
}

bool read_imports(const Value& value, Template& into) {
  const json::Array* list = value.as_array();
  if (list == nullptr || list->size() > max_imports) return false;
  for (const Value& item : *list) {
    if (item.as_string() == nullptr || !is_module(*item.as_string())) return false;
    into.imports.push_back(*item.as_string());
  }
  return true;
}

bool read_automatic(const Value& value, Template& into) {
  if (value.as_bool() == nullptr) return false;
  into.automatic = *value.as_bool();
  return true;
}

bool read_memory(const Value& value, Template& into) {
  const auto mb = integer_in(value, min_memory_mb, max_memory_mb);
  if (mb) into.memory_limit_mb = *mb;
  return mb.has_value();
}

template <std::uint32_t PoolSize::*member>
bool read_size(const Value& value, Template& into) {
  const auto size = integer_in(value, 0, max_pool_size);
  if (size) into.pool.*member = *size;
  return size.has_value();
}

constexpr Field limits_fields[] = {
    {"memory_limit_mb", "expected an integer 32 .. 1048576", read_memory}};

constexpr std::string_view a_size = "expected an integer 0 .. 64";
constexpr Field pool_fields[] = {{"least", a_size, read_size<&PoolSize::least>},
                                 {"usual", a_size, read_size<&PoolSize::usual>},
                                 {"most", a_size, read_size<&PoolSize::most>}};

constexpr std::string_view python_code = "expected a string of Python without NUL";
constexpr Field top_fields[] = {
    {"name", "expected 1 .. 32 of a-z, 0-9, - and _, and not none", read_name},
    {"language", "expected python, bash, javascript or typescript", read_language},
    {"warmth", "expected forked, started or prepared", read_warmth},
    {"rootfs", "expected host or an absolute path", read_rootfs},
    {"policy", "expected default or the absolute path of a policy file", read_policy},
    {"imports", "expected a list of at most 64 names of Python modules", read_imports},
    {"automatic", "expected true or false", read_automatic},
    {"warm_up", python_code, read_code<&Template::warm_up>},
    {"after_fork", python_code, read_code<&Template::after_fork>},
    {"rehearsal", python_code, read_code<&Template::rehearsal>},
    {"limits", "expected an object", nullptr},
    {"pool", "expected an object", nullptr},
};

Complaint read_object(const Object& object, std::span<const Field> fields,
                      const std::string& prefix, Template& into) {
  for (const auto& [name, member] : object) {
    const auto field = std::find_if(fields.begin(), fields.end(),
                                    [&name = name](const Field& f) { return f.name == name; });
    if (field == fields.end()) {
      std::string known;
      for (const Field& f : fields) known += (known.empty() ? "" : ", ") + std::string(f.name);
      return prefix + json::named(name) + ": unknown field; known are " + known;
    }
    if (field->read != nullptr ? !field->read(member, into) : member.as_object() == nullptr) {
      return prefix + name + ": " + std::string(field->expected);
    }
    if (field->read != nullptr) continue;
    const auto inner = name == "pool" ? std::span<const Field>(pool_fields) : limits_fields;
    if (auto complaint = read_object(*member.as_object(), inner, name + ".", into)) {
      return complaint;
    }
  }
  return std::nullopt;
}

// Rules that concern several fields at once.
Complaint check_together(const Object& fields, const Template& what) {
  for (const char* needed : {"name", "language", "warmth"}) {
    if (fields.contains(needed)) continue;
    const auto* const field = std::ranges::find(top_fields, std::string_view(needed), &Field::name);
    return std::string(needed) + ": missing; " + std::string(field->expected);
  }
  const bool forked = what.warmth == jail::Warmth::forked;
  if (forked && what.language != Language::python) {
    return std::string("warmth: expected prepared or started; only python can be forked");
  }
  if (what.warmth == jail::Warmth::started && what.language == Language::python) {
    return std::string("warmth: expected prepared or forked; a python that waits is forked");
  }
  for (const char* python_only : {"imports", "automatic", "warm_up", "after_fork", "rehearsal"}) {
    if (!forked && fields.contains(python_only)) {
      return std::string(python_only) + ": only a template whose warmth is forked can have it";
    }
  }
  const auto named = language_named(what.name);
  if (named && *named != what.language) {
    return "language: expected " + what.name + ", whose default the template of this name is";
  }
  const PoolSize& pool = what.pool;
  if (pool.usual > 0 && (pool.least > pool.usual || pool.usual > pool.most)) {
    return "pool: expected least <= usual <= most, not " + std::to_string(pool.least) + ", " +
           std::to_string(pool.usual) + ", " + std::to_string(pool.most);
  }
  return std::nullopt;
}

Error wrong(std::string_view what, const std::string& complaint) {
  return {jail::ErrorKind::invalid, std::string(what) + ": " + complaint, 0, {}};
}

Result<std::vector<std::string>> json_files(const std::string& directory) {
  std::error_code error;
  std::vector<std::string> paths;
  for (auto entry = std::filesystem::directory_iterator(directory, error);
       !error && entry != std::filesystem::directory_iterator(); entry.increment(error)) {
    if (entry->path().extension() == ".json") paths.push_back(entry->path().string());
  }
  if (error) {
    return Error{jail::ErrorKind::kernel,
                 "SANDBOX_TEMPLATES_DIR: read the directory " + directory,
                 error.value(),
                 {}};
  }
  std::sort(paths.begin(), paths.end());
  return paths;
}

}  // namespace

Result<Template> parse_template(std::string_view document, std::string_view what) {
  const auto parsed = json::parse(document, what);
  if (!parsed) return parsed.error();
  const Object* const fields = parsed->as_object();
  if (fields == nullptr) return wrong(what, "expected an object");
  Template result;
  if (const auto complaint = read_object(*fields, top_fields, "", result)) {
    return wrong(what, *complaint);
  }
  if (const auto complaint = check_together(*fields, result)) {
    return wrong(what, *complaint);
  }
  return result;
}

std::vector<Template> shipped_templates() {
  std::vector<Template> templates;
  std::string_view rest(runtime_templates_begin, runtime_templates_end);
  while (!rest.empty()) {
    const std::string_view document = rest.substr(0, rest.find('\0'));
    rest.remove_prefix(document.size() + 1);
    auto parsed = parse_template(document, "a shipped template");
    if (parsed) templates.push_back(std::move(*parsed));
  }
  return templates;
}

Result<std::vector<Template>> load_templates(const std::string& directory) {
  std::vector<Template> templates = shipped_templates();
  if (directory.empty()) return templates;
  const auto paths = json_files(directory);
  if (!paths) return paths.error();
  for (const std::string& path : *paths) {
    const auto text = read_text_file(path, max_file_bytes);
    if (!text) return text.error();
    auto parsed = parse_template(*text, path);
    if (!parsed) return parsed.error();
    if (std::filesystem::path(path).stem() != parsed->name) {
      return wrong(path, "name: expected the file's own, not " + json::quoted(parsed->name));
    }
    const auto same = std::find_if(templates.begin(), templates.end(),
                                   [&](const Template& t) { return t.name == parsed->name; });
    if (same == templates.end()) {
      templates.push_back(std::move(*parsed));
    } else {
      *same = std::move(*parsed);
    }
  }
  return templates;
}

void set_pool_size(std::vector<Template>& templates, std::uint32_t usual) {
  for (Template& one : templates) {
    if (usual == 0) one.pool.usual = 0;
    if (usual == 0 || one.name != name_of(Language::python)) continue;
    one.pool.usual = usual;
    one.pool.least = std::min(one.pool.least, usual);
    one.pool.most = std::max(one.pool.most, usual);
  }
}

std::string_view template_of(const RunRequest& request) noexcept {
  return request.template_name.empty() ? name_of(request.language)
                                       : std::string_view(request.template_name);
}

const Template* find_template(const std::vector<Template>& templates, std::string_view name) {
  const auto found = std::find_if(templates.begin(), templates.end(),
                                  [&](const Template& t) { return t.name == name; });
  return found == templates.end() ? nullptr : &*found;
}

}  // namespace runtime
