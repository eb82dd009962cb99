#include "runtime/sandbox/warm_fit.h"

#include <gtest/gtest.h>

#include "runtime/sandbox/language.h"

namespace runtime {
namespace {

using namespace std::chrono_literals;

RunRequest program(Language language, std::string code = "1") {
  RunRequest request;
  request.language = language;
  request.code = std::move(code);
  return request;
}

jail::TemplateSpec spec_for(Language language, jail::Warmth warmth) {
  jail::TemplateSpec spec;
  spec.warmth = warmth;
  const bool waits = warmth == jail::Warmth::started;
  spec.jail.argv =
      waits ? waiting_arguments_of(program(language)) : arguments_of(program(language));
  spec.jail.env = environment_of(program(language));
  spec.max_memory_bytes = 512u << 20;
  spec.max_cpu = 10s;
  return spec;
}

const jail::TemplateSpec python = spec_for(Language::python, jail::Warmth::forked);

WarmFit with_variable(const jail::TemplateSpec& spec, const char* name) {
  RunRequest request = program(Language::python);
  request.env = {{name, "x"}};
  return warm_fit(spec, request, 5s);
}

TEST(WarmFit, AProgramAloneIsLeasedAJail) {
  RunRequest request = program(Language::python, "import sys");
  request.standard_input = "in";
  request.files = {{"a", "b"}};
  request.artifacts = {"*"};
  EXPECT_EQ(warm_fit(python, request, 5s), WarmFit::lease);
}

TEST(WarmFit, LimitsOfItsOwnNeedAJailOfItsOwn) {
  RunRequest request = program(Language::python);
  request.max_processes = 8;
  EXPECT_EQ(warm_fit(python, request, 5s), WarmFit::cold);
  request = program(Language::python);
  request.disk_limit_mb = 128;
  EXPECT_EQ(warm_fit(python, request, 5s), WarmFit::cold);
}

TEST(WarmFit, ArgumentsNeedAForkOfTheirOwn) {
  RunRequest request = program(Language::python);
  request.args = {"a"};
  EXPECT_EQ(warm_fit(python, request, 5s), WarmFit::launch);
  jail::TemplateSpec with_imports = python;
  with_imports.imports = {"numpy"};
  EXPECT_EQ(warm_fit(with_imports, request, 5s), WarmFit::launch);
}

TEST(WarmFit, VariablesThatAreReadAtTheStartComeTooLateInAFork) {
  EXPECT_EQ(with_variable(python, "GREETING"), WarmFit::launch);
  EXPECT_EQ(with_variable(python, "LANGO"), WarmFit::launch);
  for (const char* name :
       {"PYTHONHASHSEED", "PYTHONPATH", "LD_PRELOAD", "LC_ALL", "LANG", "LANGUAGE", "TZ", "HOME",
        "MALLOC_ARENA_MAX", "GLIBC_TUNABLES", "OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS",
        "MKL_NUM_THREADS", "MPLCONFIGDIR", "NUMPY_MADVISE_HUGEPAGE"}) {
    EXPECT_EQ(with_variable(python, name), WarmFit::cold) << name;
  }
}

TEST(WarmFit, ModulesReadWhatTheyLikeWhenTheyAreImported) {
  jail::TemplateSpec spec = python;
  spec.imports = {"pandas"};
  EXPECT_EQ(with_variable(spec, "GREETING"), WarmFit::cold);
}

TEST(WarmFit, AVariableWithTheValueThatItHasAnywayChangesNothing) {
  RunRequest request = program(Language::python);
  request.env = {{"LANG", "C.UTF-8"}};
  EXPECT_EQ(warm_fit(python, request, 5s), WarmFit::lease);
}

TEST(WarmFit, LimitsBeyondThePoolsAreCold) {
  RunRequest request = program(Language::python);
  request.memory_limit_mb = 512;
  EXPECT_EQ(warm_fit(python, request, 10s), WarmFit::lease);
  EXPECT_EQ(warm_fit(python, request, 10'001ms), WarmFit::cold);
  request.memory_limit_mb = 513;
  EXPECT_EQ(warm_fit(python, request, 5s), WarmFit::cold);
}

TEST(WarmFit, PreparedJailsFitWhatTheyWereMadeFor) {
  const auto bash = spec_for(Language::bash, jail::Warmth::prepared);
  RunRequest request = program(Language::bash);
  EXPECT_EQ(warm_fit(bash, request, 5s), WarmFit::lease);
  request.args = {"a"};
  EXPECT_EQ(warm_fit(bash, request, 5s), WarmFit::cold);
  request = program(Language::bash);
  request.env = {{"A", "b"}};
  EXPECT_EQ(warm_fit(bash, request, 5s), WarmFit::cold);
}

TEST(WarmFit, VariablesComeLateUnlessSomethingHasReadThem) {
  const std::vector<std::string> at_start = {"LANG=C.UTF-8", "PATH=/usr/bin"};
  EXPECT_TRUE(may_have_variables(at_start, true, at_start));
  EXPECT_TRUE(may_have_variables(at_start, false, {"MINE=1", "LANG=C.UTF-8"}));
  EXPECT_FALSE(may_have_variables(at_start, true, {"MINE=1"}));
  EXPECT_FALSE(may_have_variables(at_start, false, {"LANG=C"}));
  EXPECT_FALSE(may_have_variables(at_start, false, {"PYTHONHASHSEED=0"}));
  EXPECT_FALSE(may_have_variables(at_start, false, {"__PYVENV_LAUNCHER__=/tmp"}));
}

TEST(WarmFit, PackagesOfTheUserAreLookedForInFilesOfTheSandbox) {
  EXPECT_EQ(user_packages_of({"LANG=C.UTF-8", "HOME=/tmp"}), "/tmp/.local/lib");
  EXPECT_EQ(user_packages_of({"HOME=/workspace"}), "/workspace/.local/lib");
  EXPECT_EQ(user_packages_of({"HOME=/tmp", "PYTHONUSERBASE=/workspace/own"}), "/workspace/own/lib");
  EXPECT_EQ(user_packages_of({"HOME=/tmp", "PYTHONUSERBASE=/opt/own"}), "");
  EXPECT_EQ(user_packages_of({"HOME=/opt"}), "");
  EXPECT_EQ(user_packages_of({"HOME_OF=/tmp"}), "");
}

TEST(WarmFit, NodeIsToldTheNameOfItsFileAndItsHeapBeforehand) {
  const auto javascript = spec_for(Language::javascript, jail::Warmth::prepared);
  EXPECT_EQ(warm_fit(javascript, program(Language::javascript, "console.log(1)"), 5s),
            WarmFit::lease);
  EXPECT_EQ(warm_fit(javascript, program(Language::javascript, "import 'fs'"), 5s), WarmFit::cold);
  RunRequest request = program(Language::javascript);
  request.memory_limit_mb = 128;
  EXPECT_EQ(warm_fit(javascript, request, 5s), WarmFit::cold);
}

TEST(WarmFit, ANodeThatWaitsTakesNoOtherFileForItsProgram) {
  const auto javascript = spec_for(Language::javascript, jail::Warmth::started);
  RunRequest request = program(Language::javascript, "import 'fs'");
  for (const char* path : {"main.js", "main.js/index.js"}) {
    request.files = {{path, "0"}};
    EXPECT_EQ(warm_fit(javascript, request, 5s), WarmFit::cold) << path;
  }
  for (const char* path : {"main.json", "lib/main.js"}) {
    request.files = {{path, "0"}};
    EXPECT_EQ(warm_fit(javascript, request, 5s), WarmFit::lease) << path;
  }
  request = program(Language::javascript, "console.log(1)");
  request.files = {{"main.mjs", "0"}};
  EXPECT_EQ(warm_fit(javascript, request, 5s), WarmFit::lease);
}

TEST(WarmFit, ANodeThatWaitsTakesPackagesAndModules) {
  const auto javascript = spec_for(Language::javascript, jail::Warmth::started);
  RunRequest request = program(Language::javascript, "console.log(1)");
  request.files = {{"package.json", R"({"type": "module"})"}, {"data.json", "{}"}};
  EXPECT_EQ(warm_fit(javascript, request, 5s), WarmFit::lease);
  request.code = "import 'node:fs'";
  EXPECT_EQ(warm_fit(javascript, request, 5s), WarmFit::lease);
  request.file_name = "other.js";
  EXPECT_EQ(warm_fit(javascript, request, 5s), WarmFit::cold);
}

TEST(WarmFit, ABashThatWaitsDoesTheSameWithShortScriptsAlone) {
  const auto bash = spec_for(Language::bash, jail::Warmth::started);
  const auto fit_of = [&](std::string script) {
    return warm_fit(bash, program(Language::bash, std::move(script)), 5s);
  };
  EXPECT_EQ(fit_of("echo 1"), WarmFit::lease);
  EXPECT_EQ(fit_of(std::string(4096, ' ')), WarmFit::lease);
  EXPECT_EQ(fit_of(std::string(4097, ' ')), WarmFit::cold);
  EXPECT_EQ(fit_of(std::string("echo \0 1", 8)), WarmFit::cold);
  EXPECT_EQ(fit_of("while ((SECONDS < 5)); do :; done"), WarmFit::cold);
  RunRequest request = program(Language::bash, ". ./wait.sh");
  request.files = {{"wait.sh", "echo $SECONDS"}};
  EXPECT_EQ(warm_fit(bash, request, 5s), WarmFit::cold);
  const auto prepared = spec_for(Language::bash, jail::Warmth::prepared);
  EXPECT_EQ(warm_fit(prepared, request, 5s), WarmFit::lease);
}

TEST(WarmFit, WhatMakesTypeScriptAModuleComesAfterItsFiles) {
  const auto typescript = spec_for(Language::typescript, jail::Warmth::started);
  RunRequest request = program(Language::typescript, "export const x: number = 1");
  request.files = {{"package.json", "{}"}, {"tsconfig.json", "{}"}};
  EXPECT_EQ(warm_fit(typescript, request, 5s), WarmFit::lease);
  request.args = {"a"};
  EXPECT_EQ(warm_fit(typescript, request, 5s), WarmFit::cold);
}

}  // namespace
}  // namespace runtime
