#include "runtime/config/scope.h"

#include <gmock/gmock.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <string>
#include <utility>

#include "runtime/config/config.h"

namespace runtime {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::Not;

TEST(Scope, NamesAreReadAsTheyAreWritten) {
  for (const Scope scope : all_scopes) {
    EXPECT_EQ(scopes_named(name_of(scope)), Scopes({scope})) << name_of(scope);
  }
  EXPECT_EQ(scopes_named("all"), Scopes::all());
  EXPECT_EQ(scopes_named("read+execute"), Scopes({Scope::execute, Scope::read}));
  EXPECT_EQ(scopes_named("execute+sandboxes+read+metrics"), Scopes::all());
}

TEST(Scope, AnyOtherTextIsRefused) {
  for (const char* text : {"", "+", "read+", "+read", "read++execute", "read+read", "Read", " read",
                           "read execute", "read,execute", "all+read", "read+all", "write", "*"}) {
    EXPECT_FALSE(scopes_named(text)) << text;
  }
}

TEST(Scope, ASetHasWhatWasAddedAlone) {
  Scopes scopes;
  for (const Scope scope : all_scopes) EXPECT_FALSE(scopes.has(scope)) << name_of(scope);
  scopes.add(Scope::read);
  for (const Scope scope : all_scopes) {
    EXPECT_EQ(scopes.has(scope), scope == Scope::read) << name_of(scope);
    EXPECT_TRUE(Scopes::all().has(scope)) << name_of(scope);
  }
}

Config loaded(const ConfigSources& sources) {
  const auto config = load_config(sources);
  EXPECT_TRUE(config.has_value()) << config.error().message();
  return config ? *config : Config();
}

Config loaded(Environment environment) {
  ConfigSources sources;
  sources.environment = std::move(environment);
  return loaded(sources);
}

std::string why_refused(Environment environment) {
  ConfigSources sources;
  sources.environment = std::move(environment);
  const auto config = load_config(sources);
  return config ? "accepted" : config.error().message();
}

TEST(KeySettings, ScopesAndTenantsAreInTheOrderOfTheKeys) {
  EXPECT_TRUE(loaded({{"API_KEYS", "k1,k2"}}).api_key_scopes.empty());
  const Config config = loaded({{"API_KEYS", "k1,k2"},
                                {"API_KEY_SCOPES", "all, execute+read"},
                                {"API_KEY_TENANTS", "team,team"}});
  EXPECT_THAT(config.api_key_scopes,
              ElementsAre(Scopes::all(), Scopes({Scope::execute, Scope::read})));
  EXPECT_THAT(config.api_key_tenants, ElementsAre("team", "team"));
}

TEST(KeySettings, TheFileHasThemAsLists) {
  std::string directory = (std::filesystem::temp_directory_path() / "scope_test.XXXXXX").string();
  ASSERT_NE(::mkdtemp(directory.data()), nullptr);
  ConfigSources sources;
  sources.file_path = directory + "/agent-sandbox.json";
  std::ofstream(*sources.file_path)
      << R"({"api_keys": ["k1", "k2"], "api_key_scopes": ["all", "metrics"],
             "api_key_tenants": ["one", "two"]})";
  const Config config = loaded(sources);
  EXPECT_THAT(config.api_key_scopes, ElementsAre(Scopes::all(), Scopes({Scope::metrics})));
  EXPECT_THAT(config.api_key_tenants, ElementsAre("one", "two"));
  std::filesystem::remove_all(directory);
}

TEST(KeySettings, WhatIsNoScopeOrTenantIsNamed) {
  EXPECT_EQ(why_refused({{"API_KEYS", "k"}, {"API_KEY_SCOPES", "reed"}}),
            "API_KEY_SCOPES in the environment: \"reed\" is not allowed; expected for each key "
            "all, or those of execute, sandboxes, read and metrics that it has, joined by +; "
            "separated by commas");
  for (const char* text : {"all,", ",", "read execute", "read,,all"}) {
    EXPECT_THAT(why_refused({{"API_KEYS", "k"}, {"API_KEY_SCOPES", text}}),
                HasSubstr("is not allowed"))
        << text;
  }
  const std::string long_name(65, 'x');
  for (const std::string& text : {std::string("a b"), std::string("a/b"), std::string(","),
                                  std::string("\xC3\xA4"), long_name}) {
    EXPECT_THAT(why_refused({{"API_KEYS", "k"}, {"API_KEY_TENANTS", text}}),
                HasSubstr("API_KEY_TENANTS in the environment: "))
        << text;
  }
  EXPECT_EQ(loaded({{"API_KEYS", "k"}, {"API_KEY_TENANTS", "Team_1.a-b"}}).api_key_tenants[0],
            "Team_1.a-b");
}

TEST(KeySettings, EachKeyHasAnEntry) {
  EXPECT_EQ(why_refused({{"API_KEY_SCOPES", "read"}}),
            "API_KEY_SCOPES: 1 for 0 keys in API_KEYS; expected one for each key, in the same "
            "order");
  EXPECT_EQ(why_refused({{"API_KEYS", "s3cret,other"}, {"API_KEY_TENANTS", "a,b,c"}}),
            "API_KEY_TENANTS: 3 for 2 keys in API_KEYS; expected one for each key, in the same "
            "order");
}

TEST(KeySettings, AKeyIsForOneThing) {
  for (const char* name : {"API_KEY_SCOPES", "API_KEY_TENANTS"}) {
    const auto said = why_refused({{"API_KEYS", "s3cret,other,s3cret"}, {name, "all,all,read"}});
    EXPECT_THAT(said, HasSubstr("API_KEYS: keys 1 and 3 are the same"));
    EXPECT_THAT(said, Not(HasSubstr("s3cret")));
  }
  EXPECT_EQ(loaded({{"API_KEYS", "s3cret,s3cret"}}).api_keys.size(), 2u);
}

}  // namespace
}  // namespace runtime
