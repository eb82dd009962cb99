#include "runtime/agent/program_text.h"

#include <gtest/gtest.h>

namespace runtime::agent {
namespace {

TEST(ProgramInFence, TheLongestPythonOne) {
  EXPECT_EQ(program_in_fence(
                "Here:\n```python\nprint(1)\n```\nRun it:\n```bash\npython3 a_long_name.py\n```\n"),
            "print(1)\n");
  EXPECT_EQ(program_in_fence("```\na\n```\n```py\nlonger = 1\n```"), "longer = 1\n");
  EXPECT_EQ(program_in_fence("```Python\r\nx = 1\r\n```\r\n"), "x = 1\r\n");
}

TEST(ProgramInFence, OneThatIsNeverClosedEndsWithTheText) {
  EXPECT_EQ(program_in_fence("```python\nprint(1)\nprint(2)"), "print(1)\nprint(2)");
  EXPECT_EQ(program_in_fence("```python"), "");
}

TEST(ProgramInFence, NothingWithoutOne) {
  EXPECT_FALSE(program_in_fence("print('```')").has_value());
  EXPECT_FALSE(program_in_fence("```sh\nls\n```").has_value());
  EXPECT_FALSE(program_in_fence("").has_value());
}

TEST(LooksLikeProgram, BySomeFirstLines) {
  for (const char* program : {"import os\n", "from a import b\n", "def f():\n", "\n\nclass A:\n",
                              "x = 1\n", "print(42)\n", "rows[0] = 1\n", "@cache\n", "# doc\n",
                              "total += 1", "os.environ['A'] = 'b'\n"}) {
    EXPECT_TRUE(looks_like_program(program)) << program;
  }
  for (const char* prose : {"", "Here is the program", "I cannot (really) do it", "from what I see",
                            "{\"code\": 1}", "1 = 2", "Sure!", "The answer is 42"}) {
    EXPECT_FALSE(looks_like_program(prose)) << prose;
  }
}

TEST(HeadAndTail, KeepsBothEnds) {
  EXPECT_EQ(head_and_tail("short", 5), "short");
  const std::string cut = head_and_tail("begin" + std::string(1000, '.') + "end", 30);
  EXPECT_TRUE(cut.starts_with("begin"));
  EXPECT_TRUE(cut.ends_with("end"));
  EXPECT_NE(cut.find("[... 978 bytes left out ...]"), std::string::npos);
}

TEST(HeadAndTail, CutsBetweenCharacters) {
  std::string text;
  for (int i = 0; i < 100; ++i) text += "ä€𝄞";
  for (std::size_t most = 0; most < 60; ++most) {
    const std::string cut = head_and_tail(text, most);
    EXPECT_EQ(unfinished_bytes(cut.substr(0, cut.find('\n'))), 0u) << most;
    const auto first = static_cast<unsigned char>(cut[cut.rfind('\n') + 1]);
    EXPECT_NE(first & 0xC0, 0x80) << most;
  }
}

TEST(UnfinishedBytes, CountsTheBeginningOfACharacter) {
  EXPECT_EQ(unfinished_bytes("a"), 0u);
  EXPECT_EQ(unfinished_bytes("a\xC3"), 1u);
  EXPECT_EQ(unfinished_bytes("\xF0\x9D\x84"), 3u);
  EXPECT_EQ(unfinished_bytes("\xF0\x9D\x84\x9E"), 0u);
  EXPECT_EQ(unfinished_bytes("\x80\x80\x80\x80"), 0u);
}

}  // namespace
}  // namespace runtime::agent
