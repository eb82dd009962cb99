#include "runtime/service/request_rules.h"

#include <algorithm>
#include <utility>

#include "jail/egress.h"
#include "runtime/agent/task.h"
#include "runtime/benchmark/suite.h"
#include "runtime/json/writer.h"
#include "runtime/sandbox/input_files.h"
#include "runtime/sandbox/language.h"
#include "runtime/service/task_rules.h"

namespace runtime {
namespace {

Complaint check_template(const RunRequest& request, const RequestRules& rules) {
  if (request.template_name.empty() || request.template_name == no_template) return std::nullopt;
  const auto* named = find_template(rules.templates, request.template_name);
  if (named == nullptr) {
    return "template: expected one of " + template_names(rules, request.language) + ", not " +
           json::quoted(request.template_name, 64);
  }
  if (named->language == request.language) return std::nullopt;
  return "template: " + named->name + " runs " + std::string(name_of(named->language)) + "; for " +
         std::string(name_of(request.language)) + " expected one of " +
         template_names(rules, request.language);
}

Complaint check_language(const RunRequest& request, const RequestRules& rules) {
  const auto why = rules.why_no_language.find(request.language);
  if (why == rules.why_no_language.end()) return std::nullopt;
  const auto* meant = find_template(rules.templates, template_of(request));
  if (meant != nullptr && !meant->rootfs.empty()) return std::nullopt;  // it has its own root
  return "language: " + why->second;
}

}  // namespace

RequestRules rules_of(const Config& config, const ProgramRoot& root,
                      std::vector<Template> templates, const std::vector<std::string>& providers) {
  RequestRules rules;
  rules.default_timeout = config.sandbox_timeout;
  rules.default_memory_limit_mb = config.sandbox_memory_limit_mb;
  rules.ceilings = config.ceilings;
  rules.max_lifetime = config.sandbox_max_lifetime;
  rules.max_cpu = config.sandbox_cpu_limit;
  if (!config.sandbox_disk_path.empty()) rules.max_directory_mb = config.sandbox_max_disk_mb;
  if (config.network_enabled) rules.network = config.network_allow;
  for (const Language language : all_languages) {
    if (auto why = why_not_available(language, root)) {
      rules.why_no_language.emplace(language, std::move(*why));
    }
  }
  rules.templates = std::move(templates);
  rules.why_no_task = why_no_task(config);
  rules.tasks = task_rules(config, providers);
  rules.suites = benchmark::suite_names();
  return rules;
}

std::string template_names(const RequestRules& rules, std::optional<Language> language) {
  std::string names(no_template);
  for (const Template& one : rules.templates) {
    if (!language || one.language == *language) names += ", " + one.name;
  }
  return names;
}

std::size_t bytes_of_arguments(const std::vector<std::string>& args,
                               const std::vector<std::pair<std::string, std::string>>& env) {
  std::size_t bytes = 0;
  for (const std::string& arg : args) bytes += arg.size() + 1;
  for (const auto& [name, value] : env) bytes += name.size() + value.size() + 2;
  return bytes;
}

Complaint check_destination(const std::string& rule, const RequestRules& rules) {
  if (const auto checked = jail::check_egress_rule(rule); !checked) return checked.error().doing;
  const bool covered = std::any_of(
      rules.network.begin(), rules.network.end(),
      [&](const std::string& ceiling) { return jail::egress_rule_covers(ceiling, rule); });
  if (covered) return std::nullopt;
  std::string allowed;
  for (const std::string& ceiling : rules.network) {
    allowed += (allowed.empty() ? "" : ", ") + ceiling;
  }
  return rule + " is beyond what the operator allows, which is " + allowed;
}

Refusal refuse_request(std::string complaint) {
  return {.code = RefusalCode::bad_request, .detail = std::move(complaint)};
}

std::optional<Refusal> check_arguments(
    std::string_view names, const std::vector<std::string>& args,
    const std::vector<std::pair<std::string, std::string>>& env) {
  const std::size_t bytes = bytes_of_arguments(args, env);
  if (bytes <= max_args_env_bytes) return std::nullopt;
  return Refusal{.code = RefusalCode::out_of_range,
                 .detail = std::string(names) + ": expected at most " +
                           std::to_string(max_args_env_bytes) + " bytes together",
                 .limit = max_args_env_bytes,
                 .used = bytes};
}

std::optional<Refusal> check_program(const RunRequest& request, const RequestRules& rules) {
  if (auto refusal = check_arguments("args, env", request.args, request.env)) return refusal;
  const auto files = check_input_files(request.files, program_file_of(request), rules.files);
  if (!files) return refuse_request("files: " + files.error().doing);
  if (const auto complaint = check_template(request, rules)) return refuse_request(*complaint);
  if (const auto complaint = check_language(request, rules)) return refuse_request(*complaint);
  return std::nullopt;
}

std::size_t characters_of(std::string_view text) {
  const auto begins_one = [](char c) { return (static_cast<unsigned char>(c) & 0xC0) != 0x80; };
  return static_cast<std::size_t>(std::count_if(text.begin(), text.end(), begins_one));
}

bool is_task_text(std::string_view text) {
  const std::size_t characters = characters_of(text);
  return characters >= 1 && characters <= max_task_characters &&
         text.size() <= agent::max_task_bytes;
}

}  // namespace runtime
