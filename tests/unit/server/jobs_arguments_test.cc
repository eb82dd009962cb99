#include "server/cli/jobs/jobs_arguments.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "server/cli/jobs/job_ids.h"
#include "server/cli/jobs/job_output.h"

namespace server::client {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

using Words = std::vector<std::string>;

template <class One>
One jobs_parsed_as(Words args) {
  auto command = parse_arguments(std::move(args), "1.2.3");
  if (const auto* finished = std::get_if<Finished>(&command)) ADD_FAILURE() << finished->error;
  auto* options = std::get_if<JobsOptions>(&command);
  auto* one = options == nullptr ? nullptr : std::get_if<One>(options);
  EXPECT_NE(one, nullptr);
  return one == nullptr ? One() : *one;
}

TEST(JobsArguments, JobsAloneListsThem) {
  for (const Words& words : {Words{"jobs"}, Words{"jobs", "list"}}) {
    const auto options = jobs_parsed_as<ListJobsOptions>(words);
    EXPECT_TRUE(options.status.empty());
    EXPECT_EQ(options.limit, 50u);
    EXPECT_EQ(options.format, Format::text);
  }
}

TEST(JobsArguments, OptionsOfTheListStandBeforeOrAfterTheWord) {
  for (const Words& words :
       {Words{"jobs", "--status", "error", "--limit", "7", "--json"},
        Words{"jobs", "list", "--status", "error", "--limit", "7", "--json"},
        Words{"jobs", "--status", "error", "--json", "list", "--limit", "7"}}) {
    const auto options = jobs_parsed_as<ListJobsOptions>(words);
    EXPECT_EQ(options.status, "error");
    EXPECT_EQ(options.limit, 7u);
    EXPECT_EQ(options.format, Format::json);
  }
}

TEST(JobsArguments, ShowTakesOneAndCancelTakesMany) {
  EXPECT_EQ(jobs_parsed_as<ShowJobOptions>({"jobs", "show", "a"}).id, "a");
  EXPECT_EQ(jobs_parsed_as<ShowJobOptions>({"jobs", "show", "a", "--json"}).format, Format::json);
  EXPECT_THAT(jobs_parsed_as<CancelJobsOptions>({"jobs", "cancel", "a", "b"}).ids,
              ElementsAre("a", "b"));
}

TEST(JobsArguments, LogsTakesTheIdOfAnything) {
  auto options = jobs_parsed_as<OutputOptions>({"logs", "box"});
  EXPECT_EQ(options.id, "box");
  EXPECT_FALSE(options.follow || options.tail);
  options = jobs_parsed_as<OutputOptions>({"logs", "-f", "--tail", "3", "box"});
  EXPECT_TRUE(options.follow);
  EXPECT_EQ(options.tail, 3u);
}

TEST(JobsArguments, MistakesAreNamed) {
  const std::pair<Words, const char*> cases[] = {
      {{"jobs", "--status", "foo"}, "--status: expected one of running, "},
      {{"jobs", "--status", "foo"}, ", not \"foo\"\n"},
      {{"jobs", "--limit", "0"}, "--limit: expected an integer 1 .. 10000\n"},
      {{"jobs", "--limit", "3", "show", "a"}, "--limit is for jobs list"},
      {{"jobs", "--status", "error", "cancel", "a"}, "--status is for jobs list"},
      {{"jobs", "show"}, "jobs show: expected the ID of a job"},
      {{"jobs", "cancel"}, "jobs cancel: expected the ID of a job"},
      {{"jobs", "cancel", ""}, "jobs cancel: expected the ID of a job"},
      {{"jobs", "shwo", "a"}, "did you mean show?"},
      {{"logs"}, "logs: expected the ID"},
      {{"logs", "a", "--folow"}, "did you mean --follow?"}};
  for (const auto& [words, expected] : cases) {
    const auto command = parse_arguments(words, "1.2.3");
    const auto* const finished = std::get_if<Finished>(&command);
    ASSERT_NE(finished, nullptr) << expected;
    EXPECT_EQ(finished->exit_code, 2);
    EXPECT_THAT(finished->error, HasSubstr(expected));
  }
}

TEST(JobIds, TheirBeginningIsLowerHexOfSixCharacters) {
  for (const char* word : {"a49a5d", "079883d4-bf9", "079883d4-bf94-4e79-9c44-16b49cd28ed"}) {
    EXPECT_TRUE(may_begin_id(word)) << word;
  }
  for (const char* word :
       {"", "a49a5", "-a49a5d", "A49A5D", "a49a5g", "079883d4-bf94-4e79-9c44-16b49cd28edd"}) {
    EXPECT_FALSE(may_begin_id(word)) << word;
  }
}

TEST(JobOutput, LastLinesCountALineWithoutALineFeed) {
  EXPECT_EQ(last_lines("", 3), "");
  EXPECT_EQ(last_lines("a\nb\n", 0), "");
  EXPECT_EQ(last_lines("a\nb\n", 1), "b\n");
  EXPECT_EQ(last_lines("a\nb", 1), "b");
  EXPECT_EQ(last_lines("a\nb\n", 2), "a\nb\n");
  EXPECT_EQ(last_lines("\n\n\n", 2), "\n\n");
  EXPECT_EQ(last_lines("\n", 1), "\n");
  EXPECT_EQ(last_lines("a\nb\n", 9), "a\nb\n");
}

}  // namespace
}  // namespace server::client
