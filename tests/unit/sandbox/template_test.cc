#include "runtime/sandbox/template.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>

#include "runtime/sandbox/language.h"

namespace runtime {
namespace {

using ::testing::HasSubstr;

std::string error_of(std::string_view document) {
  const auto parsed = parse_template(document, "mine.json");
  if (parsed) return "accepted";
  const std::string message = parsed.error().message();
  EXPECT_EQ(message.find('\n'), message.npos) << message;
  return message;
}

// A valid template with `members` in addition to the required ones.
std::string forked(const std::string& members) {
  return R"({"name": "mine", "language": "python", "warmth": "forked")" +
         (members.empty() ? "" : ", " + members) + "}";
}

std::string prepared(const std::string& members) {
  return R"({"name": "mine", "language": "bash", "warmth": "prepared", )" + members + "}";
}

TEST(TemplateFile, EveryFieldIsRead) {
  const char* const members = R"-("rootfs": "/srv/root", "policy": "/etc/strict.json",
    "imports": ["json", "a_1.B"], "automatic": false, "warm_up": "json.dumps(1)", "after_fork": "pass",
    "rehearsal": "json.loads('1')",
    "limits": {"memory_limit_mb": 512}, "pool": {"least": 0, "usual": 3, "most": 64})-";
  const auto parsed = parse_template(forked(members), "mine.json");
  ASSERT_TRUE(parsed) << parsed.error().message();
  EXPECT_EQ(parsed->name, "mine");
  EXPECT_EQ(parsed->language, Language::python);
  EXPECT_EQ(parsed->warmth, jail::Warmth::forked);
  EXPECT_EQ(parsed->rootfs, "/srv/root");
  EXPECT_EQ(parsed->policy, "/etc/strict.json");
  EXPECT_EQ(parsed->imports, (std::vector<std::string>{"json", "a_1.B"}));
  EXPECT_FALSE(parsed->automatic);
  EXPECT_EQ(parsed->warm_up, "json.dumps(1)");
  EXPECT_EQ(parsed->after_fork, "pass");
  EXPECT_EQ(parsed->rehearsal, "json.loads('1')");
  EXPECT_EQ(parsed->memory_limit_mb, 512u);
  EXPECT_EQ(parsed->pool.least, 0u);
  EXPECT_EQ(parsed->pool.usual, 3u);
  EXPECT_EQ(parsed->pool.most, 64u);
}

TEST(TemplateFile, WhatIsLeftOutHasADefault) {
  const auto parsed = parse_template(forked(R"("policy": "default")"), "mine.json");
  ASSERT_TRUE(parsed) << parsed.error().message();
  EXPECT_EQ(parsed->rootfs, "");
  EXPECT_EQ(parsed->policy, "");
  EXPECT_TRUE(parsed->imports.empty());
  EXPECT_TRUE(parsed->automatic);
  EXPECT_EQ(parsed->memory_limit_mb, 0u);
  EXPECT_LE(parsed->pool.least, parsed->pool.usual);
  EXPECT_LE(parsed->pool.usual, parsed->pool.most);
}

TEST(TemplateFile, ErrorsNameTheFileAndTheField) {
  const std::string long_name(33, 'a');
  const std::pair<std::string, const char*> cases[] = {
      {"[]", "mine.json: expected an object"},
      {"{", "mine.json"},
      {"{}", "mine.json: name: missing; expected 1 .. 32 of a-z"},
      {R"({"name": "a", "language": "bash"})",
       "warmth: missing; expected forked, started or prepared"},
      {R"({"name": "A"})", "name: expected 1 .. 32 of a-z"},
      {R"({"name": "none"})", "name: expected"},
      {R"({"name": ""})", "name: expected"},
      {R"({"name": ")" + long_name + "\"}", "name: expected"},
      {R"({"name": 1})", "name: expected"},
      {forked(R"("extra": 1)"), "mine.json: extra: unknown field; known are name, language"},
      {forked(R"("ex\ntra": 1)"), R"(mine.json: "ex\ntra": unknown field; known are name)"},
      {R"({"language": "perl"})", "language: expected python, bash"},
      {R"({"warmth": "held"})", "warmth: expected forked, started or prepared"},
      {forked(R"("rootfs": "root")"), "rootfs: expected host or an absolute path"},
      {forked(R"("rootfs": null)"), "rootfs: expected"},
      {forked(R"("policy": "strict.json")"), "policy: expected default or the absolute path"},
      {forked(R"("imports": "json")"), "imports: expected a list"},
      {forked(R"("imports": ["json", "os; import x"])"), "imports: expected"},
      {forked(R"("imports": ["a..b"])"), "imports: expected"},
      {forked(R"("imports": ["a."])"), "imports: expected"},
      {forked(R"("imports": [""])"), "imports: expected"},
      {forked(R"("imports": ["1a"])"), "imports: expected"},
      {forked(R"("warm_up": ["pass"])"), "warm_up: expected a string"},
      {forked(R"("after_fork": "a\u0000b")"), "after_fork: expected a string"},
      {forked(R"("limits": {"memory_limit_mb": 31})"), "limits.memory_limit_mb: expected"},
      {forked(R"("limits": {"memory": 64})"), "limits.memory: unknown field; known are memory_l"},
      {forked(R"("limits": 64)"), "limits: expected an object"},
      {forked(R"("pool": {"usual": 65})"), "pool.usual: expected an integer 0 .. 64"},
      {forked(R"("pool": {"usual": 1.5})"), "pool.usual: expected"},
      {forked(R"("pool": {"size": 1})"), "pool.size: unknown field; known are least, usual, most"},
      {forked(R"("pool": {"least": 5, "usual": 4})"), "pool: expected least <= usual <= most"},
      {forked(R"("pool": {"usual": 20, "most": 10})"), "pool: expected least <= usual <= most"},
      {prepared(R"("imports": ["json"])"), "imports: only a template whose warmth is forked"},
      {prepared(R"("warm_up": "")"), "warm_up: only a template"},
      {R"({"name": "b", "language": "bash", "warmth": "forked"})", "warmth: expected prepared"},
      {R"({"name": "b", "language": "python", "warmth": "started"})",
       "warmth: expected prepared or forked; a python that waits is forked"},
      {R"({"name": "python", "language": "bash", "warmth": "prepared"})",
       "language: expected python"},
      {R"({"name": "a", "name": "b"})", "duplicate key"},
  };
  for (const auto& [document, words] : cases) {
    EXPECT_THAT(error_of(document), HasSubstr(words)) << document;
  }
}

TEST(Templates, EachLanguageHasOneOfItsNameAndThereIsOneForNumbers) {
  const auto templates = shipped_templates();
  ASSERT_EQ(templates.size(), 5u);
  for (const Language language : all_languages) {
    const Template* const found = find_template(templates, name_of(language));
    ASSERT_NE(found, nullptr) << name_of(language);
    EXPECT_EQ(found->language, language);
    EXPECT_GT(found->pool.usual, 0u);
  }
  const Template* const numbers = find_template(templates, "data");
  ASSERT_NE(numbers, nullptr);
  EXPECT_EQ(numbers->language, Language::python);
  EXPECT_THAT(numbers->imports, testing::Contains("pandas"));
  EXPECT_EQ(find_template(templates, "none"), nullptr);
}

TEST(Templates, ThePoolSizeIsThatOfPython) {
  auto templates = shipped_templates();
  const auto size_of = [&](std::string_view name) { return find_template(templates, name)->pool; };
  set_pool_size(templates, 1);
  EXPECT_EQ(size_of("python").least, 1u);
  EXPECT_EQ(size_of("python").usual, 1u);
  EXPECT_EQ(size_of("data").usual, 2u);
  set_pool_size(templates, 20);
  EXPECT_EQ(size_of("python").usual, 20u);
  EXPECT_EQ(size_of("python").most, 64u);
  EXPECT_EQ(size_of("bash").usual, 2u);
  set_pool_size(templates, 0);
  for (const Template& one : templates) EXPECT_EQ(one.pool.usual, 0u) << one.name;
}

class TemplateFolder : public ::testing::Test {
 protected:
  TemplateFolder() {
    std::string name = (std::filesystem::temp_directory_path() / "template_test.XXXXXX").string();
    EXPECT_NE(::mkdtemp(name.data()), nullptr);
    directory_ = name;
  }
  ~TemplateFolder() override { std::filesystem::remove_all(directory_); }

  void write(const std::string& name, std::string_view text) {
    std::ofstream(directory_ + "/" + name) << text;
  }

  std::string directory_;
};

TEST_F(TemplateFolder, AddsToTheShippedOnesAndReplacesThem) {
  write("mine.json", forked(R"("imports": ["json"])"));
  write("data.json", R"({"name": "data", "language": "python", "warmth": "forked"})");
  write("notes.txt", "not a template");
  const auto templates = load_templates(directory_);
  ASSERT_TRUE(templates) << templates.error().message();
  EXPECT_EQ(templates->size(), 6u);
  ASSERT_NE(find_template(*templates, "mine"), nullptr);
  EXPECT_TRUE(find_template(*templates, "data")->imports.empty());
}

TEST_F(TemplateFolder, ErrorsNameTheFile) {
  write("mine.json", forked(R"("pool": {"most": 65})"));
  auto templates = load_templates(directory_);
  ASSERT_FALSE(templates);
  EXPECT_EQ(templates.error().message(),
            directory_ + "/mine.json: pool.most: expected an integer 0 .. 64");
  write("mine.json", R"({"name": "other", "language": "bash", "warmth": "prepared"})");
  templates = load_templates(directory_);
  ASSERT_FALSE(templates);
  EXPECT_THAT(templates.error().message(), HasSubstr("mine.json: name: expected the file's own"));
}

TEST_F(TemplateFolder, AFolderThatIsNotThereIsAnError) {
  const auto templates = load_templates(directory_ + "/no");
  ASSERT_FALSE(templates);
  EXPECT_THAT(templates.error().message(), HasSubstr("SANDBOX_TEMPLATES_DIR"));
  EXPECT_EQ(templates.error().sys_errno, ENOENT);
}

}  // namespace
}  // namespace runtime
