// The manual page of the settings beside the table that the program reads them by.
#include <gtest/gtest.h>

#include <cctype>
#include <fstream>
#include <iterator>
#include <regex>
#include <set>
#include <string>

#include "runtime/config/settings.h"

namespace {

// Small letters, and any blanks as one: a page breaks its lines where it likes.
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

std::string page() {
  std::ifstream file(SETTINGS_MANUAL);
  return {std::istreambuf_iterator<char>(file), {}};
}

// What `.It Ic key , Ev NAME` lines name, as "key NAME".
std::set<std::string> documented(const std::string& text) {
  std::set<std::string> names;
  const std::regex item(R"(\n\.It Ic (\S+)(?: , Ev (\S+))?(?=\n))");
  for (std::sregex_iterator match(text.begin(), text.end(), item), end; match != end; ++match) {
    names.insert((*match)[1].str() + " " + (*match)[2].str());
  }
  return names;
}

TEST(SettingsManual, NamesEverySettingAndNoOther) {
  std::set<std::string> known;
  for (const runtime::Setting& setting : runtime::all_settings()) {
    known.insert(setting.key + " " + setting.name);
  }
  EXPECT_GT(known.size(), 50u);
  EXPECT_EQ(documented(page()), known);
}

TEST(SettingsManual, SaysWhatIsAllowed) {
  const std::string text = normal(page());
  for (const runtime::Setting& setting : runtime::all_settings()) {
    EXPECT_NE(text.find(normal(setting.allowed)), text.npos)
        << setting.key << ": " << setting.allowed;
  }
}

TEST(SettingsManual, ControlASettingThatIsMissingIsNoticed) {
  std::string text = page();
  const std::string line = "\n.It Ic api_port , Ev API_PORT";
  ASSERT_NE(text.find(line), text.npos);
  text.erase(text.find(line), line.size());
  EXPECT_EQ(documented(text).count("api_port API_PORT"), 0u);
}

}  // namespace
