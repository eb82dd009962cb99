#include "runtime/jail_file/jail_file.h"

#include <filesystem>
#include <initializer_list>
#include <string_view>
#include <system_error>

#include "jail/egress.h"
#include "runtime/config/text_file.h"
#include "runtime/json/members.h"
#include "runtime/json/place.h"
#include "runtime/json/reader.h"
#include "runtime/json/writer.h"
#include "runtime/policy/policy_json.h"

namespace runtime {
namespace {

using jail::Result;
using json::member;
using json::Object;
using json::Place;
using json::Value;

constexpr std::size_t max_file_bytes = 1u << 20;

// The value of a member that must be one of a few words.
template <class T>
struct Word {
  std::string_view text;
  T value;
};

template <class T>
Result<T> word(const Value* value, const Place& place, std::initializer_list<Word<T>> known) {
  if (value == nullptr) return place.error("missing");
  std::string list;
  for (const Word<T>& one : known) {
    if (value->as_string() != nullptr && *value->as_string() == one.text) return one.value;
    list.append(list.empty() ? "" : " or ").append(one.text);
  }
  return place.error("must be " + list);
}

class JailFileReader {
 public:
  JailFileReader(std::string_view name, std::filesystem::path directory)
      : top_(name, {}), directory_(std::move(directory)) {}

  Result<JailFile> read(const Value& document) {
    const auto object = object_with(
        document, top_,
        {"policy", "add_rules", "binds", "volumes", "devices", "network", "hostname", "env"});
    if (!object) return object.error();
    const Object& fields = **object;
    for (const auto part :
         {&JailFileReader::read_policy, &JailFileReader::read_binds, &JailFileReader::read_volumes,
          &JailFileReader::read_devices, &JailFileReader::read_network,
          &JailFileReader::read_hostname, &JailFileReader::read_env}) {
      if (Result<void> done = (this->*part)(fields); !done) return done.error();
    }
    return std::move(file_);
  }

 private:
  // The member `name` of an entry, which must be a path.
  Result<std::string> path(const Object& entry, const Place& place, std::string_view name) const {
    const auto text = json::non_empty_text(member(entry, name), place.field(name));
    if (!text) return text.error();
    if (text->find('\0') != text->npos) return place.field(name).error("has a NUL in it");
    return from_here(*text);
  }

  std::string from_here(const std::string& text) const {
    std::string path = (directory_ / text).lexically_normal().string();
    if (path.size() > 1 && path.ends_with('/')) path.pop_back();
    return path;
  }

  // Calls `take` for each entry of the list `name`, where there is one.
  template <class Take>
  Result<void> each(const Object& fields, std::string_view name,
                    std::initializer_list<std::string_view> allowed, const Take& take) {
    if (member(fields, name) == nullptr) return {};
    return each_at(fields, top_, name, allowed, take);
  }

  template <class Take>
  static Result<void> each_at(const Object& fields, const Place& above, std::string_view name,
                              std::initializer_list<std::string_view> allowed, const Take& take) {
    const auto list = json::non_empty_array(fields, above, name);
    if (!list) return list.error();
    for (std::size_t i = 0; i < (*list)->size(); ++i) {
      const Place place = above.field(name).item(i);
      const auto entry = json::object_with((**list)[i], place, allowed);
      if (!entry) return entry.error();
      auto why = json::non_empty_text(member(**entry, "why"), place.field("why"));
      if (!why) return why.error();
      if (Result<void> taken = take(**entry, place, std::move(*why)); !taken) return taken;
    }
    return {};
  }

  Result<void> read_policy(const Object& fields) {
    file_.policy = jail::default_policy();
    if (const Value* value = member(fields, "policy")) {
      auto policy = value->as_object() != nullptr
                        ? policy::policy_from(*value, top_.field("policy"))
                        : policy_in_file(fields);
      if (!policy) return policy.error();
      file_.policy = std::move(*policy);
    }
    if (member(fields, "add_rules") == nullptr) return {};
    const auto rules = policy::rules_from(fields, top_, "add_rules");
    if (!rules) return rules.error();
    file_.policy = jail::with_rules(std::move(file_.policy), *rules);
    return {};
  }

  Result<jail::Policy> policy_in_file(const Object& fields) const {
    const auto where = path(fields, top_, "policy");
    if (!where) return where.error();
    const auto text = read_text_file(*where, max_file_bytes);
    if (!text) {
      jail::Error error = text.error();
      error.doing = top_.field("policy").error(error.doing).doing;
      return error;
    }
    return policy::parse_policy(*text, *where);
  }

  Result<void> read_binds(const Object& fields) {
    return each(
        fields, "binds", {"source", "target", "why"},
        [this](const Object& entry, const Place& place, std::string why) -> Result<void> {
          auto source = path(entry, place, "source");
          if (!source) return source.error();
          auto target = json::non_empty_text(member(entry, "target"), place.field("target"));
          if (!target) return target.error();
          std::error_code ignored;  // libjail refuses a path that does not exist
          const bool directory = std::filesystem::is_directory(*source, ignored);
          file_.binds.push_back({std::move(*source), std::move(*target),
                                 directory ? jail::NodeKind::directory : jail::NodeKind::file,
                                 std::move(why)});
          return {};
        });
  }

  Result<void> read_volumes(const Object& fields) {
    return each(
        fields, "volumes", {"source", "target", "why", "programs"},
        [this](const Object& entry, const Place& place, std::string why) -> Result<void> {
          auto source = path(entry, place, "source");
          if (!source) return source.error();
          auto target = json::non_empty_text(member(entry, "target"), place.field("target"));
          if (!target) return target.error();
          jail::Programs programs = jail::Programs::refused;
          if (const Value* value = member(entry, "programs")) {
            const auto said = word<jail::Programs>(
                value, place.field("programs"),
                {{"refused", jail::Programs::refused}, {"allowed", jail::Programs::allowed}});
            if (!said) return said.error();
            programs = *said;
          }
          file_.volumes.push_back(
              {std::move(*source), std::move(*target), std::move(why), programs});
          return {};
        });
  }

  Result<void> read_devices(const Object& fields) {
    return each(
        fields, "devices", {"path", "access", "why"},
        [this](const Object& entry, const Place& place, std::string why) -> Result<void> {
          auto path = json::non_empty_text(member(entry, "path"), place.field("path"));
          if (!path) return path.error();
          const auto access = word<jail::DeviceAccess>(
              member(entry, "access"), place.field("access"),
              {{"read", jail::DeviceAccess::read}, {"read_write", jail::DeviceAccess::read_write}});
          if (!access) return access.error();
          file_.devices.push_back({std::move(*path), *access, std::move(why)});
          return {};
        });
  }

  Result<void> read_network(const Object& fields) {
    const Value* value = member(fields, "network");
    if (value == nullptr) return {};
    const Place place = top_.field("network");
    if (value->as_object() == nullptr) {
      using Kind = jail::Network::Kind;
      const auto kind =
          word<Kind>(value, place, {{"none", Kind::none}, {"loopback", Kind::loopback}});
      if (!kind) return place.error("must be none, loopback or an object with a list `allow`");
      file_.network.kind = *kind;
      return {};
    }
    if (auto object = object_with(*value, place, {"allow"}); !object) return object.error();
    file_.network.kind = jail::Network::Kind::egress;
    return each_at(*value->as_object(), place, "allow", {"to", "why"},
                   [this](const Object& entry, const Place& at, std::string why) -> Result<void> {
                     auto to = json::non_empty_text(member(entry, "to"), at.field("to"));
                     if (!to) return to.error();
                     if (const auto rule = jail::check_egress_rule(*to); !rule) {
                       return at.field("to").error(rule.error().doing);
                     }
                     file_.network.rules.push_back(std::move(*to));
                     file_.network.why.push_back(std::move(why));
                     return {};
                   });
  }

  Result<void> read_hostname(const Object& fields) {
    if (member(fields, "hostname") == nullptr) return {};
    auto name = json::non_empty_text(member(fields, "hostname"), top_.field("hostname"));
    if (!name) return name.error();
    file_.hostname = std::move(*name);
    return {};
  }

  Result<void> read_env(const Object& fields) {
    const Value* value = member(fields, "env");
    if (value == nullptr) return {};
    const Place place = top_.field("env");
    if (value->as_object() == nullptr) return place.error("must be an object");
    for (const auto& [name, text] : *value->as_object()) {
      const Place at = place.field(json::named(name));
      if (name.empty() || name.find_first_of(std::string_view("=\0", 2)) != name.npos) {
        return at.error("not the name of a variable");
      }
      if (text.as_string() == nullptr || text.as_string()->find('\0') != std::string::npos) {
        return at.error("must be a string without NUL");
      }
      file_.env.emplace_back(name, *text.as_string());
    }
    return {};
  }

  const Place top_;
  const std::filesystem::path directory_;  // absolute and without links, as volumes require
  JailFile file_;
};

}  // namespace

Result<JailFile> read_jail_file(const std::string& path) {
  const auto text = read_text_file(path, max_file_bytes);
  if (!text) return text.error();
  std::error_code error;
  const auto directory =
      std::filesystem::canonical(std::filesystem::path(path), error).parent_path();
  if (error) return jail::Error{jail::ErrorKind::kernel, "find " + path, error.value(), {}};
  const auto document = json::parse(*text, path);
  if (!document) return document.error();
  return JailFileReader(path, directory).read(*document);
}

}  // namespace runtime
