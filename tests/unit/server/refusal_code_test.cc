// The codes of refusals, and the page that lists them.
#include "runtime/refusals/refusal_code.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <fstream>
#include <set>
#include <string>
#include <vector>

#include "runtime/json/writer.h"
#include "runtime/refusals/refusal.h"

namespace runtime {
namespace {

std::vector<std::string> lines_of(const std::string& path) {
  std::ifstream file(path);
  std::vector<std::string> lines;
  for (std::string line; std::getline(file, line);) lines.push_back(line);
  return lines;
}

TEST(RefusalCode, EveryCodeHasANameAStatusAndAMeaning) {
  std::set<std::string_view> names;
  for (const RefusalKind& kind : refusal_kinds()) {
    EXPECT_TRUE(names.insert(kind.name).second) << kind.name;
    EXPECT_EQ(kind.name.find_first_not_of("abcdefghijklmnopqrstuvwxyz_"), kind.name.npos);
    EXPECT_TRUE(kind.status >= 400 && kind.status < 600) << kind.name;
    EXPECT_TRUE(kind.meaning.ends_with(".")) << kind.name;
    EXPECT_EQ(&kind_of(kind.code), &kind);
  }
}

TEST(RefusalCode, ThePageOfErrorsListsAllOfThemAndNoOther) {
  std::vector<std::string> expected;
  for (const RefusalKind& kind : refusal_kinds()) {
    expected.push_back("| `" + std::string(kind.name) + "` | " + std::to_string(kind.status) +
                       " | " + std::string(kind.meaning) + " | " + std::string(kind.remedy) + " |");
  }
  auto listed = lines_of(ERRORS_PAGE);
  const auto head = std::find(listed.begin(), listed.end(), "|---|---|---|---|");
  ASSERT_NE(head, listed.end());
  listed.erase(listed.begin(), head + 1);
  const auto end = std::find_if(listed.begin(), listed.end(),
                                [](const std::string& line) { return line.empty(); });
  listed.erase(end, listed.end());
  EXPECT_EQ(listed, expected);
}

TEST(Refusal, TheRemedyIsItsOwnOrThatOfTheCode) {
  const auto text_of = [](const Refusal& refusal) {
    json::Writer writer;
    writer.begin_object();
    write_refusal(writer, refusal);
    writer.end_object();
    return std::move(writer).take();
  };
  EXPECT_EQ(text_of({.code = RefusalCode::no_such_job, .detail = "no such job"}),
            R"({"detail":"no such job","code":"no_such_job"})");
  EXPECT_EQ(text_of({.code = RefusalCode::not_paused, .detail = "late", .limit = 0.5, .used = 2}),
            R"({"detail":"late","code":"not_paused","limit":0.5,"used":2,"remedy":"try again"})");
  EXPECT_EQ(text_of({.code = RefusalCode::not_paused, .detail = "late", .remedy = "wait"}),
            R"({"detail":"late","code":"not_paused","remedy":"wait"})");
}

}  // namespace
}  // namespace runtime
