// The guest's rights to files, by their place in its root, and the processes that it may signal or
// connect to: a second fence beside mounts and namespaces. Files that only a mistake in one of
// those would show have no rule here.
#include "child/landlock.h"

#include <fcntl.h>

#include <cstddef>
#include <optional>
#include <set>

#include "plan/concerns.h"

namespace jail {
namespace {

// Nobody may make a device node or a whiteout.
constexpr std::uint64_t never = landlock::make_character_device | landlock::make_block_device;

// The first component of an absolute path: "/etc" of "/etc/ssl/certs".
std::string top_of(const std::string& path) { return path.substr(0, path.find('/', 1)); }

// What becomes of a file after its rule is made: a fork of a zygote closes all of them by one call,
// once it is in its domain.
enum class RuleFiles : std::uint8_t { closed, left_open };

class RuleWriter {
 public:
  RuleWriter(Builder& builder, int version, RuleFiles files)
      : builder_(builder), handled_(landlock::known_file_rights(version)), files_(files) {
    const landlock::Ruleset handled{handled_, 0, landlock::known_scopes(version)};
    ruleset_ =
        builder_.open(JAIL_CALL(landlock_create_ruleset),
                      {Builder::address(builder_.store(handled)), Builder::value(sizeof handled)},
                      "make a Landlock ruleset");
  }

  // Adds a rule for the directory or file at `path` and all beneath it. `purpose` is that of the
  // rule.
  void allow(const std::string& path, std::uint64_t rights, const std::string& purpose,
             int more_flags = O_NOFOLLOW) {
    const std::string opening = "open " + path + " for its Landlock rule";
    const std::initializer_list<Argument> arguments = {
        Builder::value(AT_FDCWD), builder_.text(path),
        Builder::value(O_PATH | O_CLOEXEC | more_flags)};
    if (file_) {
      builder_.call(JAIL_CALL(openat), arguments, opening).result_slot = file_->number;
    } else {
      file_ = builder_.open(JAIL_CALL(openat), arguments, opening);
    }
    allow(*file_, rights, purpose);
    if (files_ == RuleFiles::closed) builder_.close(*file_, path);
  }

  // Does the same for a file that is open already.
  void allow(SlotRef file, std::uint64_t rights, const std::string& purpose) {
    const std::uint32_t rule = builder_.reserve(sizeof(landlock::BeneathRule));
    builder_.write(rule, landlock::BeneathRule{rights & handled_, -1});
    builder_.store_value(rule + offsetof(landlock::BeneathRule, file), Builder::slot(file),
                         "name it in the rule");
    builder_.call(
        JAIL_CALL(landlock_add_rule),
        {Builder::slot(*ruleset_), Builder::value(landlock::path_beneath), Builder::address(rule)},
        purpose);
  }

  SlotRef ruleset() const { return *ruleset_; }

 private:
  Builder& builder_;
  std::uint64_t handled_;
  RuleFiles files_;
  std::optional<SlotRef> ruleset_;
  std::optional<SlotRef> file_;
};

void allow_reading(RuleWriter& rules, const std::string& path, NodeKind kind,
                   Programs programs = Programs::allowed) {
  const std::uint64_t all = kind == NodeKind::directory ? landlock::read_directory : 0;
  const bool runs = programs == Programs::allowed;
  rules.allow(path, (runs ? landlock::execute : 0) | landlock::read_file | all,
              "let " + path + (runs ? " be read and executed" : " be read"));
}

void allow_changing(RuleWriter& rules, const std::string& path, Programs programs) {
  const std::uint64_t no_programs = programs == Programs::refused ? landlock::execute : 0;
  rules.allow(path, ~(never | landlock::control_device | no_programs),
              "let " + path + " be changed");
}

// A rule names the first component of each place, which saves one rule for each file of /etc.
void allow_root(RuleWriter& rules, const Root& root) {
  std::set<std::string> allowed;
  const auto allow = [&](const std::string& target, NodeKind kind) {
    const std::string top = top_of(target);
    if (!allowed.insert(top).second) return;
    allow_reading(rules, top, target == top ? kind : NodeKind::directory);
  };
  for (const ReadOnlyBind& bind : root.binds) allow(bind.target, bind.kind);
  for (const TextFile& file : root.files) allow(file.target, NodeKind::file);
}

void enter_domain(Builder& builder, SlotRef ruleset, const HostFacts& host) {
  // The kernel would otherwise log each denial to the host's audit log, as often as a guest likes.
  const unsigned flags = host.landlock >= landlock::first_with_unlogged ? landlock::unlogged : 0;
  builder.call(JAIL_CALL(landlock_restrict_self), {Builder::slot(ruleset), Builder::value(flags)},
               "enter a Landlock domain of the jail's own");
}

}  // namespace

// The ruleset does not handle TCP. In a network namespace with loopback alone a guest binds and
// connects freely, and a rule names a port but no address: one that allows the ports that programs
// use there would allow the same ports everywhere.
std::optional<SlotRef> add_ruleset(Builder& builder, const JailSpec& spec, const HostFacts& host,
                                   GuestProgram program) {
  if (host.landlock == 0) return std::nullopt;
  const bool forked = program == GuestProgram::of_zygote;
  RuleWriter rules(builder, host.landlock, forked ? RuleFiles::left_open : RuleFiles::closed);
  rules.allow("/", landlock::read_directory, "let directories be listed");
  allow_root(rules, spec.root);
  for (const ReadOnlyBind& bind : spec.binds) allow_reading(rules, bind.target, bind.kind);
  auto of_workspace = Programs::allowed;
  for (const Volume& volume : spec.volumes) {
    if (volume.access == VolumeAccess::read_only) {
      allow_reading(rules, volume.target, NodeKind::directory, volume.programs);
    } else if (volume.target == "/workspace") {
      of_workspace = volume.programs;
    } else {
      allow_changing(rules, volume.target, volume.programs);
    }
  }
  // Mounts decide which devices there are, and the filter which ioctl commands pass.
  rules.allow("/dev", landlock::read_file | landlock::write_file | landlock::control_device,
              "let devices be used");
  rules.allow("/proc", landlock::read_file, "let /proc be read");
  allow_changing(rules, "/workspace", of_workspace);
  allow_changing(rules, "/tmp", Programs::allowed);
  if (spec.life == Life::until_ended) {
    // Init is in the domain as well and reads /proc.
    rules.allow(SlotRef{wire::slot_proc}, landlock::read_file | landlock::read_directory,
                "let init's own proc be read");
  }
  if (forked) {
    // The file that /proc/self/exe leads to belongs to the zygote's root, not to the jail's.
    rules.allow("/proc/self/exe", landlock::execute | landlock::read_file,
                "let the zygote's program be read and executed", 0);
  }
  return rules.ruleset();
}

void add_domain(Builder& builder, const std::optional<SlotRef>& ruleset, const HostFacts& host) {
  if (!ruleset) return;
  enter_domain(builder, *ruleset, host);
  builder.close(*ruleset, "the ruleset");
}

void add_domain_of_forked(Builder& builder, const std::optional<SlotRef>& ruleset,
                          const HostFacts& host) {
  if (!ruleset) return;
  enter_domain(builder, *ruleset, host);
  close_all_but_channel(builder, "close the ruleset and the files of its rules");
}

}  // namespace jail
