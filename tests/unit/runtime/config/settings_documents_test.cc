// The documents about the settings, compared with the table that the program uses: the manual page
// agent-sandbox.json(5), which has everything; settings.md, whose table has every variable; and the
// README of runtime/config, whose table has the settings that only the file has.
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cctype>
#include <fstream>
#include <iterator>
#include <regex>
#include <set>
#include <string>
#include <string_view>

#include "runtime/config/setting_text.h"
#include "runtime/config/settings.h"

namespace runtime {
namespace {

std::string content(const std::string& path) {
  std::ifstream file(std::string(PROJECT) + "/" + path);
  return {std::istreambuf_iterator<char>(file), {}};
}

std::string page() { return content("server/deploy/man/agent-sandbox.json.5"); }

// Converts to small letters, and any blanks to one: a page breaks its lines anywhere.
std::string normal(const std::string& text) {
  std::string result;
  for (const char c : text) {
    if (std::isspace(static_cast<unsigned char>(c)) == 0) {
      result += static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
    } else if (!result.empty() && result.back() != ' ') {
      result += ' ';
    }
  }
  return result;
}

// Returns the first groups of all matches; with two groups "FIRST SECOND".
std::set<std::string> all_of(const std::string& text, const std::string& pattern) {
  std::set<std::string> found;
  const std::regex regex(pattern);
  for (std::sregex_iterator match(text.begin(), text.end(), regex), end; match != end; ++match) {
    found.insert((*match)[1].str() + (match->size() > 2 ? " " + (*match)[2].str() : ""));
  }
  return found;
}

// Returns the names in `.It Ic key , Ev NAME` lines, as "key NAME".
std::set<std::string> in_manual(const std::string& text) {
  return all_of(text, R"(\n\.It Ic (\S+)(?: , Ev (\S+))?(?=\n))");
}

// Returns the `...` names in the first cells of the table below the line `header`.
std::set<std::string> in_table(const std::string& text, const std::string& header) {
  const std::size_t begin = text.find("\n" + header + "\n|---");
  EXPECT_NE(begin, text.npos) << header;
  if (begin == text.npos) return {};
  const std::string table = text.substr(begin, text.find("\n\n", begin) - begin);
  std::string first_cells;
  for (const std::string& cell : all_of(table, R"(\n\| ([^|]*) \|)")) first_cells += cell;
  return all_of(first_cells, "`([^`]+)`");
}

// The settings that all providers have stand in the table once, for the first of them.
std::string as_in_table(const std::string& name) {
  const auto providers = known_providers();
  const std::string first = upper(providers.front().name);
  for (const ProviderConfig& provider : providers) {
    for (const std::string suffix : {"_API_KEY", "_MODEL", "_BASE_URL"}) {
      if (name == upper(provider.name) + suffix) return first + suffix;
    }
  }
  return name;
}

std::set<std::string> variables_in_table(const std::string& text) {
  return in_table(text, "| name | default | |");
}

TEST(SettingsDocuments, TheManualNamesEverySettingAndNoOther) {
  std::set<std::string> known;
  for (const Setting& setting : all_settings()) known.insert(setting.key + " " + setting.name);
  EXPECT_GT(known.size(), 50u);
  EXPECT_EQ(in_manual(page()), known);
}

TEST(SettingsDocuments, TheManualSaysWhatIsAllowed) {
  const std::string text = normal(page());
  for (const Setting& setting : all_settings()) {
    EXPECT_NE(text.find(normal(setting.allowed)), text.npos)
        << setting.key << ": " << setting.allowed;
  }
}

TEST(SettingsDocuments, TheTableNamesEveryVariableAndNoOther) {
  std::set<std::string> known;
  for (const Setting& setting : all_settings()) {
    if (!setting.name.empty()) known.insert(as_in_table(setting.name));
  }
  EXPECT_GT(known.size(), 30u);
  EXPECT_EQ(variables_in_table(content("runtime/config/settings.md")), known);
}

TEST(SettingsDocuments, TheReadmeOfTheFolderNamesWhatTheEnvironmentLacksOrCallsOtherwise) {
  std::set<std::string> known;
  for (const Setting& setting : all_settings()) {
    if (setting.key != lower(setting.name)) known.insert(setting.key);
  }
  EXPECT_GT(known.size(), 2u);
  EXPECT_EQ(in_table(content("runtime/config/README.md"), "| key | variable | default | what |"),
            known);
}

TEST(SettingsDocuments, TheReadmeOfTheFolderNamesNoVariableThatIsNone) {
  std::set<std::string> known;
  for (const Setting& setting : all_settings()) known.insert(setting.name);
  for (const std::string& name :
       all_of(content("runtime/config/README.md"), "`([A-Z][A-Z0-9]*_[A-Z0-9_]+)[`=]")) {
    EXPECT_EQ(known.count(name), 1u) << name;
  }
}

TEST(SettingsDocuments, ControlASettingThatIsMissingIsNoticed) {
  std::string text = page();
  const std::string line = "\n.It Ic api_port , Ev API_PORT";
  ASSERT_NE(text.find(line), text.npos);
  text.erase(text.find(line), line.size());
  EXPECT_EQ(in_manual(text).count("api_port API_PORT"), 0u);

  text = content("runtime/config/settings.md");
  EXPECT_EQ(variables_in_table(text).count("API_SOCKET_MODE"), 1u);
  const std::string row = "\n| `API_SOCKET_MODE`";
  ASSERT_NE(text.find(row), text.npos);
  text.replace(text.find(row), row.size(), "\n| `API_SOCKET_MODUS`");
  EXPECT_EQ(variables_in_table(text).count("API_SOCKET_MODE"), 0u);
  EXPECT_EQ(variables_in_table(text).count("API_SOCKET_MODUS"), 1u);
}

}  // namespace
}  // namespace runtime
