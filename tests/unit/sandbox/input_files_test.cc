#include "runtime/sandbox/input_files.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "runtime/sandbox/language.h"

namespace runtime {
namespace {

using testing::HasSubstr;
using testing::StartsWith;

std::string complaint(std::vector<InputFile> files, Language language = Language::python) {
  const auto checked = check_input_files(files, file_name_of(language, ""), {});
  return checked ? "" : checked.error().doing;
}

TEST(InputFiles, OrdinaryPathsPass) {
  EXPECT_EQ(complaint({}), "");
  EXPECT_EQ(complaint({{"a.csv", ""}, {"in/b.csv", "1"}, {"in/deeper/c", "2"}, {".hidden", ""}}),
            "");
  EXPECT_EQ(complaint({{"...", ""}, {"a b\n", ""}, {"m\xC3\xA4rz.csv", ""}}), "");
  EXPECT_EQ(complaint({{"main.py", ""}}, Language::bash), "");
}

TEST(InputFiles, PathsThatLeadElsewhereAreRefused) {
  for (const std::string path :
       {"", "/etc/passwd", "..", ".", "../a", "a/../b", "a/./b", "a//b", "a/", "/", "a/.."}) {
    EXPECT_NE(complaint({{path, ""}}), "") << path;
  }
  EXPECT_NE(complaint({{std::string("a\0b", 3), ""}}), "");
}

TEST(InputFiles, PathsAreBounded) {
  EXPECT_EQ(complaint({{std::string(255, 'a'), ""}}), "");
  EXPECT_THAT(complaint({{std::string(256, 'a'), ""}}), HasSubstr("at most 255 bytes"));
  EXPECT_THAT(
      complaint({{std::string(200, 'a') + "/" + std::string(200, 'b') + "/" + std::string(200, 'c'),
                  ""}}),
      HasSubstr("1 .. 512 bytes"));
  std::string deep = "a";
  for (int i = 1; i < 16; ++i) deep += "/a";
  EXPECT_EQ(complaint({{deep, ""}}), "");
  EXPECT_THAT(complaint({{deep + "/a", ""}}), HasSubstr("16 components"));
}

TEST(InputFiles, NoPathStandsInAnothersWay) {
  EXPECT_THAT(complaint({{"a", ""}, {"a", ""}}), StartsWith("\"a\": given twice"));
  EXPECT_THAT(complaint({{"a/b", ""}, {"a", ""}}), StartsWith("\"a/b\": needs a directory"));
  EXPECT_THAT(complaint({{"a/b/c/d", ""}, {"a/b", ""}}), HasSubstr("\"a/b\" is a file"));
  EXPECT_THAT(complaint({{"main.py", ""}}), HasSubstr("the program itself"));
  EXPECT_THAT(complaint({{"main.py/x", ""}}), HasSubstr("\"main.py\" is a file"));
  EXPECT_EQ(complaint({{"ab/c", ""}, {"a", ""}}), "");
}

TEST(InputFiles, NumberAndSizeAreBounded) {
  std::vector<InputFile> files;
  for (int i = 0; i < 64; ++i)
    files.push_back({"f" + std::to_string(i), std::string(1u << 17, 'x')});
  EXPECT_EQ(complaint(files), "");
  files.front().content += 'x';
  EXPECT_THAT(complaint(files), HasSubstr("8388608 bytes"));
  files.front().content.clear();
  files.push_back({"one more", ""});
  EXPECT_THAT(complaint(files), HasSubstr("at most 64 files"));
}

}  // namespace
}  // namespace runtime
