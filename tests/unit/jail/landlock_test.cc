// The Landlock calls in the plans, by the version that a kernel has.
#include "child/landlock.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>
#include <map>

#include "plan/plan.h"

namespace jail {
namespace {

using testing::IsEmpty;

HostFacts host_with(int version) {
  HostFacts facts;
  facts.uid = 1001;
  facts.gid = 1001;
  facts.last_capability = 40;
  facts.landlock = version;
  return facts;
}

JailSpec spec_with_all() {
  JailSpec value;
  value.argv = {"/bin/true"};
  value.filter.instructions = {0x7fff000000000006};
  value.root.binds = {{"/srv/usr", "/usr", NodeKind::directory},
                      {"/etc/ssl/certs", "/etc/ssl/certs", NodeKind::directory}};
  value.root.files = {{"/etc/hosts", "127.0.0.1 localhost\n"}, {"/note", "a file of the root"}};
  value.binds = {{"/srv/key", "/keys/key", NodeKind::file, "it signs"}};
  value.volumes = {{"/srv/results", "/data/results", "results are kept"},
                   {"/srv/tools", "/data/tools", "it runs them", Programs::allowed}};
  return value;
}

template <class T>
T read(const Plan& plan, std::int64_t place) {
  T object;
  std::memcpy(&object, plan.bytes.data() + place, sizeof object);
  return object;
}

struct Found {
  landlock::Ruleset handled{};
  std::map<std::string, std::uint64_t> rules;  // by purpose
  std::int64_t flags = -1;                     // of the domain
};

Found found_in(const Plan& plan) {
  Found found;
  for (const CallList* list : {&plan.init, &plan.guest}) {
    for (std::size_t i = 0; i < list->calls.size(); ++i) {
      const wire::Call& call = list->calls[i];
      const CallText& text = list->texts[i];
      if (text.system_call == "landlock_create_ruleset") {
        found.handled = read<landlock::Ruleset>(plan, call.argument[0]);
      } else if (text.system_call == "landlock_add_rule") {
        found.rules[text.purpose] = read<landlock::BeneathRule>(plan, call.argument[2]).rights;
      } else if (text.system_call == "landlock_restrict_self") {
        found.flags = call.argument[1];
      }
    }
  }
  return found;
}

Found compiled(int version) {
  const auto plan = compile(spec_with_all(), host_with(version));
  EXPECT_TRUE(plan) << plan.error().message();
  return found_in(*plan);
}

TEST(LandlockPlan, IsNotThereWhereTheKernelHasNone) {
  const Found found = compiled(0);
  EXPECT_THAT(found.rules, IsEmpty());
  EXPECT_EQ(found.flags, -1);
}

// A kernel refuses rights that it does not know.
TEST(LandlockPlan, HandlesWhatTheVersionKnows) {
  for (int version = 2; version <= 8; ++version) {
    const Found found = compiled(version);
    EXPECT_EQ(found.handled.files & landlock::refer, landlock::refer);
    EXPECT_EQ((found.handled.files & landlock::truncate) != 0, version >= 3) << version;
    EXPECT_EQ((found.handled.files & landlock::control_device) != 0, version >= 5) << version;
    EXPECT_EQ(found.handled.scopes != 0, version >= 6) << version;
    EXPECT_EQ(found.flags, version >= 7 ? landlock::unlogged : 0) << version;
    EXPECT_EQ(found.handled.network, 0u);
    for (const auto& [purpose, rights] : found.rules) {
      EXPECT_EQ(rights & ~found.handled.files, 0u) << purpose << " of version " << version;
      EXPECT_NE(rights, 0u) << purpose << " of version " << version;
    }
  }
}

TEST(LandlockPlan, AllowsWhatTheSpecHasAndNoMore) {
  const std::map<std::string, std::uint64_t> rules = compiled(7).rules;
  const std::uint64_t read = landlock::execute | landlock::read_file;
  const std::uint64_t change =
      landlock::known_file_rights(7) &
      ~(landlock::make_character_device | landlock::make_block_device | landlock::control_device);
  const std::map<std::string, std::uint64_t> expected = {
      {"let directories be listed", landlock::read_directory},
      {"let /usr be read and executed", read | landlock::read_directory},
      {"let /etc be read and executed", read | landlock::read_directory},
      {"let /note be read and executed", read},
      {"let /keys/key be read and executed", read},
      {"let /data/results be changed", change & ~landlock::execute},
      {"let /data/tools be changed", change},
      {"let devices be used",
       landlock::read_file | landlock::write_file | landlock::control_device},
      {"let /proc be read", landlock::read_file},
      {"let /workspace be changed", change},
      {"let /tmp be changed", change}};
  EXPECT_EQ(rules, expected);
}

// The program of a fork lies in its zygote's root.
TEST(LandlockPlan, AllowsAForkItsProgram) {
  JailSpec value = spec_with_all();
  const auto plan = compile_forked(value, host_with(7), Optimization::on);
  ASSERT_TRUE(plan) << plan.error().message();
  std::map<std::string, std::uint64_t> rules = found_in(*plan).rules;
  EXPECT_EQ(rules["let the zygote's program be read and executed"],
            landlock::execute | landlock::read_file);
  rules.erase("let the zygote's program be read and executed");
  EXPECT_EQ(rules, compiled(7).rules);
}

// The zygote joins namespaces, and a restricted process would pass its domain on to its forks.
TEST(LandlockPlan, RestrictsNoHostAndNoZygote) {
  const auto plan = compile_host(spec_with_all(), host_with(7));
  ASSERT_TRUE(plan) << plan.error().message();
  EXPECT_EQ(found_in(*plan).flags, -1);
}

// In domains of their own they could neither signal nor see each other, so they share init's, which
// reads their files through its own proc.
TEST(LandlockPlan, ProcessesOfALivingJailShareInitsDomain) {
  JailSpec value = spec_with_all();
  value.life = Life::until_ended;
  value.argv.clear();
  const auto plan = compile(value, host_with(7));
  ASSERT_TRUE(plan) << plan.error().message();
  std::map<std::string, std::uint64_t> rules = found_in(*plan).rules;
  EXPECT_EQ(rules["let init's own proc be read"], landlock::read_file | landlock::read_directory);
  rules.erase("let init's own proc be read");
  EXPECT_EQ(rules, compiled(7).rules);
  const auto entered = [](const CallList& list) {
    return std::count_if(list.texts.begin(), list.texts.end(), [](const CallText& text) {
      return text.system_call == "landlock_restrict_self";
    });
  };
  EXPECT_EQ(entered(plan->init), 1);
  EXPECT_EQ(entered(plan->guest), 0);
}

// No process in a domain can mount, and the filter permits none of Landlock's calls.
TEST(LandlockPlan, EntersTheDomainJustBeforeTheFilter) {
  JailSpec of_node = spec_with_all();
  of_node.argv = {"/usr/bin/node", "/workspace/main.js"};
  const auto started = compile_started(of_node, {}, host_with(7));
  const auto cold = compile(spec_with_all(), host_with(7));
  const auto forked = compile_forked(spec_with_all(), host_with(7), Optimization::on);
  for (const auto* plan : {&cold, &started, &forked}) {
    ASSERT_TRUE(*plan);
    const auto& texts = (*plan)->guest.texts;
    const auto domain = std::find_if(texts.begin(), texts.end(), [](const CallText& text) {
      return text.system_call == "landlock_restrict_self";
    });
    ASSERT_NE(domain, texts.end());
    EXPECT_GT(std::count_if(domain, texts.end(),
                            [](const CallText& text) { return text.system_call == "seccomp"; }),
              0);
    EXPECT_EQ(std::count_if(domain, texts.end(),
                            [](const CallText& text) { return text.system_call == "openat"; }),
              0);
  }
}

}  // namespace
}  // namespace jail
