#include "runtime/sandbox/template_choice.h"

#include <gtest/gtest.h>

#include <string>
#include <utility>
#include <vector>

namespace runtime {
namespace {

Template with_imports(std::string name, std::vector<std::string> imports) {
  Template what;
  what.name = std::move(name);
  what.warmth = jail::Warmth::forked;
  what.imports = std::move(imports);
  return what;
}

RunRequest program(std::string code) {
  RunRequest request;
  request.code = std::move(code);
  return request;
}

std::string choice(const std::vector<Template>& templates, const RunRequest& request) {
  const Template* const chosen = template_by_imports(templates, request);
  return chosen == nullptr ? "" : chosen->name;
}

const std::vector<Template> usual = {with_imports("data", {"numpy", "pandas.plotting._matplotlib"}),
                                     with_imports("geometry", {"shapely", "numpy"}),
                                     with_imports("python", {})};

TEST(TemplateChoice, IsWhatHasMostOfTheImports) {
  EXPECT_EQ(choice(usual, program("import pandas")), "data");
  EXPECT_EQ(choice(usual, program("import shapely")), "geometry");
  EXPECT_EQ(choice(usual, program("import numpy")), "data") << "the first of two as good";
  EXPECT_EQ(choice(usual, program("import json, numpy, shapely")), "geometry");
  EXPECT_EQ(choice(usual, program("from pandas import DataFrame\nimport seaborn")), "data");
}

TEST(TemplateChoice, IsNoneWhereNothingIsCovered) {
  EXPECT_EQ(choice(usual, program("import json, panda, pandasql")), "");
  EXPECT_EQ(choice(usual, program("print('import pandas')")), "");
  EXPECT_EQ(choice({}, program("import pandas")), "");
}

TEST(TemplateChoice, LeavesAloneWhatTheRequestSays) {
  RunRequest named = program("import pandas");
  named.template_name = "python";
  EXPECT_EQ(choice(usual, named), "");
  named.template_name = no_template;
  EXPECT_EQ(choice(usual, named), "");
  RunRequest script = program("import pandas from 'pandas'");
  script.language = Language::javascript;
  EXPECT_EQ(choice(usual, script), "");
}

TEST(TemplateChoice, CodeThatRunsAnotherProgramSaysWhich) {
  RunRequest request = program("import sys; exec(sys.stdin.read())");
  request.imports_from = "import pandas";
  EXPECT_EQ(choice(usual, request), "data");
  request = program("import pandas; exec(input())");
  request.imports_from = "import json";
  EXPECT_EQ(choice(usual, request), "");
}

TEST(TemplateChoice, AModuleOfTheRequestsOwnComesFirst) {
  RunRequest request = program("import pandas");
  for (const char* path : {"pandas.py", "dateutil/__init__.py", "six.pyc", "x.so"}) {
    request.files = {{.path = path, .content = {}}};
    EXPECT_EQ(choice(usual, request), "") << path;
  }
  request.files = {{.path = "numbers.csv", .content = {}}};
  EXPECT_EQ(choice(usual, request), "data");
}

TEST(TemplateChoice, OnlyTemplatesThatDifferByTheirImportsCount) {
  std::vector<Template> templates = {with_imports("data", {"pandas"})};
  const RunRequest request = program("import pandas");
  ASSERT_EQ(choice(templates, request), "data");
  templates[0].rootfs = "/srv/root";
  EXPECT_EQ(choice(templates, request), "");
  templates[0].rootfs.clear();
  templates[0].policy = "/etc/strict.json";
  EXPECT_EQ(choice(templates, request), "");
  templates[0].policy.clear();
  templates[0].automatic = false;
  EXPECT_EQ(choice(templates, request), "");
}

}  // namespace
}  // namespace runtime
