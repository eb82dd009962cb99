#include "server/cli/habits.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "server/cli/arguments.h"

namespace server {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::Not;

using Words = std::vector<std::string>;

std::string complaint_of(Words args) {
  const auto command = parse_arguments(std::move(args), "1.2.3");
  const auto* const finished = std::get_if<Finished>(&command);
  if (finished == nullptr) return "taken";
  EXPECT_EQ(finished->exit_code, 2);
  EXPECT_EQ(finished->output, "");
  return finished->error;
}

TEST(Habits, AnOptionOfDockerIsAnsweredWithOurs) {
  const std::pair<Words, const char*> cases[] = {
      {{"exec", "-m", "512", "-c", "x"}, "unknown option -m; --memory 512m limits"},
      {{"exec", "-m512", "-c", "x"}, "--memory"},
      {{"exec", "-v", "a:b", "-c", "x"}, "--file brings files in, --artifact brings them out"},
      {{"exec", "-v/a:/b", "-c", "x"}, "--file brings files in"},
      {{"exec", "--rm", "-c", "x"}, "unknown option --rm; nothing of a jail stays"},
      {{"exec", "--image", "python", "-c", "x"}, "--template or --rootfs"},
      {{"exec", "--network=host", "-c", "x"}, "unknown option --network; --allow HOST:PORT"},
      {{"run", "-it", "bash"}, "a program is run by agent-sandbox exec"},
      {{"run", "--rm", "bash"}, "a program is run by agent-sandbox exec"},
      {{"sandbox", "create", "-m", "512"}, "--memory 512m"},
      {{"sandbox", "create", "--image", "x"}, "--template"},
      {{"sandbox", "exec", "-it", "box", "--", "bash"}, "unexpected: \"-t\"; sandbox shell gives"},
      {{"sandbox", "exec", "-d", "box", "--", "x"}, "--background"},
      {{"sandbox", "shell", "-it", "box"}, "it has a terminal always"},
      {{"sandbox", "logs", "-n", "5", "box"}, "--tail N"},
      {{"exec", "--cpus", "2", "-c", "x"}, "SANDBOX_CPU_LIMIT"},
      {{"sandbox", "create", "-v", "a:/b"}, "unknown option -v; --volume NAME:PATH"},
      {{"sandbox", "create", "--mount", "a"}, "--volume NAME:PATH"},
      {{"sandbox", "exec", "-u", "root", "box", "--", "x"}, "one user of its own"},
      {{"sandbox", "list", "-a"}, "those that have ended as well"},
      {{"sandbox", "ls", "-l", "box"}, "it shows modes, sizes and times"},
      {{"sandbox", "rm", "-rf", "box", "a"}, "unexpected: \"-f\"; -r removes a directory"},
      {{"logs", "-n", "5", "box"}, "--tail N"},
      {{"logs", "-n5", "box"}, "--tail N"}};
  for (const auto& [words, text] : cases) {
    EXPECT_THAT(complaint_of(words), HasSubstr(text)) << ::testing::PrintToString(words);
  }
}

TEST(Habits, WhatMayBeTheProgramsIsNoHabit) {
  EXPECT_THAT(complaint_of({"exec", "a.py", "-v"}),
              HasSubstr("unknown option -v; what is the program's follows after --\n"));
  EXPECT_THAT(complaint_of({"exec", "-verbose", "-c", "x"}), Not(HasSubstr("--file")));
  EXPECT_EQ(habit_of_option("exec", "--memory"), "");
  EXPECT_EQ(habit_of_option("", "-m"), "");
}

TEST(Habits, AWordOfDockerIsAnsweredWithOurs) {
  const std::pair<Words, const char*> cases[] = {
      {{"ps"}, "no subcommand \"ps\"; sandbox list shows sandboxes"},
      {{"ls"}, "sandbox list shows sandboxes"},
      {{"python", "x.py"}, "exec runs a program: exec FILE"},
      {{"images"}, "exec --template"},
      {{"stats"}, "sandbox metrics shows"},
      {{"volume", "ls"}, "; list shows them"},
      {{"volume", "rm", "data"}, "; delete removes one, with all that is in it"},
      {{"volume", "inspect", "data"}, "; get shows one"},
      {{"volume", "rename", "data", "kept"}, "; change --name gives one another name"},
      {{"volume"}, "expected a subcommand: create, list, get, copy, change or delete\n"},
      {{"sandbox", "create", "box2"}, "unexpected: \"box2\"; --name gives it a name"},
      {{"sandbox", "create", "--name", ""}, "--name: expected a name"},
      {{"sandbox", "change", "box"}, "--secret"},
      {{"exec", "--file", "", "-c", "x"}, "--file \"\": expected SRC"},
      {{"exec", "--allow", "", "-c", "x"}, "--allow \"\": not HOST:PORT"},
      {{"exec", "--allow", "*", "-c", "x"}, "--allow *: no rule is for all hosts; write *.org:443"},
      {{"shell", "box"}, "; write agent-sandbox sandbox shell\n"},
      {{"create"},
       "; write agent-sandbox sandbox create, agent-sandbox volume create or agent-sandbox webhook "
       "create\n"},
      {{"list"},
       "; write agent-sandbox lessons list, agent-sandbox sandbox list, agent-sandbox jobs list, "
       "agent-sandbox volume list or agent-sandbox webhook list\n"},
      {{"sandbox", "start", "box"}, "resume lets one go on that is paused, create makes another"},
      {{"sandbox", "rename", "box"}, "the name that create --name gives"}};
  for (const auto& [words, text] : cases) {
    EXPECT_THAT(complaint_of(words), HasSubstr(text)) << ::testing::PrintToString(words);
  }
}

TEST(Habits, NoGuessLeadsToTheEndOfASandbox) {
  for (const Words& words : {Words{"stop", "box"}, {"kill", "box"}, {"sandbox", "stop", "box"}}) {
    EXPECT_THAT(
        complaint_of(words),
        AllOf(HasSubstr("pause stops what runs in a sandbox and keeps it"),
              HasSubstr("delete ends it with all that is in it"), Not(HasSubstr("did you mean"))))
        << ::testing::PrintToString(words);
  }
  EXPECT_THAT(complaint_of({"sandbox", "kill", "box"}),
              AllOf(HasSubstr("expected the PID of a process"), HasSubstr("pause stops"),
                    HasSubstr("delete ends it")));
  for (const Words& words : {Words{"rm", "box"}, {"delete", "box"}, {"sandbox", "remove", "box"}}) {
    EXPECT_THAT(complaint_of(words),
                AllOf(HasSubstr("rm removes a file"), HasSubstr("delete ends the sandbox")))
        << ::testing::PrintToString(words);
  }
}

TEST(Suggestion, AnOptionMayBeMeantByItsBeginning) {
  EXPECT_THAT(complaint_of({"exec", "--lang", "py", "-c", "x"}),
              HasSubstr("unknown option --lang; did you mean --language?"));
  EXPECT_THAT(complaint_of({"exec", "--mem", "64", "-c", "x"}),
              HasSubstr("unknown option --mem; did you mean --memory?"));
  EXPECT_THAT(complaint_of({"sandbox", "create", "--no", "64"}), HasSubstr("--no-auto-resume"));
  // Two options begin so.
  EXPECT_THAT(complaint_of({"exec", "--t", "3", "-c", "x"}), HasSubstr("unknown option --t\n"));
}

TEST(Suggestion, AnOptionTakesNoOtherOptionForItsValue) {
  const std::pair<Words, const char*> cases[] = {
      {{"exec", "--file", "-c", "1"}, "--file: expected SRC[:DEST], not the option -c\n"},
      {{"exec", "--template", "-c", "1"}, "--template: expected NAME, not the option -c\n"},
      {{"exec", "--server", "-c", "1"}, "--server: expected URL, not the option -c\n"},
      {{"exec", "--allow", "-c", "1"}, "--allow: expected HOST:PORT, not the option -c\n"},
      {{"exec", "--timeout", "--json=x", "-c", "1"},
       "--timeout: expected SECONDS, not the option --json=x\n"},
      {{"sandbox", "create", "--name", "--json"}, "--name: expected NAME, not the option --json\n"},
      {{"serve", "--host", "--port", "1"}, "--host: expected HOST, not the option --port\n"}};
  for (const auto& [words, text] : cases) {
    EXPECT_THAT(complaint_of(words), HasSubstr(text)) << ::testing::PrintToString(words);
  }
  // A value that is called as an option is written behind an equals sign.
  EXPECT_EQ(complaint_of({"exec", "--file=-c", "-c", "1"}), "taken");
  EXPECT_EQ(complaint_of({"exec", "-c", "--json"}), "taken");
  EXPECT_EQ(complaint_of({"exec", "--env", "A=-c", "-c", "1"}), "taken");
}

}  // namespace
}  // namespace server
