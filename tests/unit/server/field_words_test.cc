#include "server/cli/sandbox/field_words.h"

#include <gtest/gtest.h>

namespace server::client {
namespace {

TEST(FieldWords, ARefusalNamesTheOptionInPlaceOfTheField) {
  const struct {
    const char* detail;
    const char* text;
  } cases[] = {
      {"limits: memory_mb: expected an integer 32 .. 2048",
       "--memory: the server expects an integer 32 .. 2048"},
      {"limits: disk_mb: expected an integer 1 .. 1024, or with it disk_kind: directory",
       "--disk: the server expects an integer 1 .. 1024, or with it --disk-kind directory"},
      {"working_directory: expected an absolute path",
       "--workdir: the server expects an absolute path"},
      {"template: expected one of bash, data", "--template: the server expects one of bash, data"},
      {"timeout_seconds: expected a number 0.05 .. 60",
       "--timeout: the server expects a number 0.05 .. 60"},
      {"name: box is the name of another sandbox", "--name: box is the name of another sandbox"},
      {"network: this server gives programs no network",
       "--allow: this server gives programs no network"},
      {"network: allow[12]: pypi.org:443 is beyond what the operator allows, which is a.org:443",
       "--allow: pypi.org:443 is beyond what the operator allows, which is a.org:443"},
      {"network: secrets[0]: host: expected a name", "--secret: host: expected a name"},
      {"/workspace/src: the directory is not empty; recursive=true removes it with what is in it",
       "/workspace/src: the directory is not empty; -r removes it with what is in it"},
      {"the sandbox is paused, and auto_resume is false",
       "the sandbox is paused, and was created with --no-auto-resume; sandbox resume lets it go "
       "on"},
      {"/workspace/timeout_seconds: there is no such file or directory",
       "/workspace/timeout_seconds: there is no such file or directory"},
      {"box ended: volume v had too much; a larger size_mb makes room for more",
       "box ended: volume v had too much; `agent-sandbox volume change --size` makes room for "
       "more"},
      {"", ""}};
  for (const auto& [detail, text] : cases) EXPECT_EQ(refusal_in_options(detail), text);
}

TEST(FieldWords, AVolumeIsNamedAsItWasGiven) {
  const std::vector<runtime::VolumeMount> volumes = {
      {.volume = "models", .path = "/m", .is_read_only = false},
      {.volume = "nosuch", .path = "/x", .is_read_only = true}};
  EXPECT_EQ(refusal_in_options("volumes: [1]: volume: no such volume", volumes),
            "--volume nosuch:/x:ro: no such volume");
  EXPECT_EQ(refusal_in_options("volumes: [0]: path: /m is taken", volumes),
            "--volume models:/m: /m is taken");
  for (const char* other : {"volumes: [2]: volume: no such volume", "volumes: [x]: no", "no", ""}) {
    EXPECT_EQ(refusal_in_options(other, volumes), other);
  }
}

TEST(FieldWords, ARefusalOfAVolumeSaysWhichOne) {
  const auto text = [](const char* detail) {
    return refusal_of_a_volume(refusal_in_options(detail), "models");
  };
  EXPECT_EQ(text("no such volume"), "no such volume: models");
  EXPECT_EQ(text("copy_of: no such volume"), "no such volume: models");
  EXPECT_EQ(text("copy_of: sandbox x writes to volume models"),
            "sandbox x writes to volume models");
  EXPECT_EQ(text("name: models is the name of another volume"),
            "NAME: models is the name of another volume");
  EXPECT_EQ(text("size_mb: the files of volume models take more"),
            "--size: the files of volume models take more");
}

TEST(FieldWords, ARemedyNamesTheOption) {
  EXPECT_EQ(remedy_in_options("raise limits.memory_mb, up to 2048"),
            "raise --memory of sandbox create, up to 2048");
  EXPECT_EQ(remedy_in_options("limits.disk_mb is at its maximum: let the program do less"),
            "--disk of sandbox create is at its maximum: let the program do less");
  EXPECT_EQ(remedy_in_options("raise memory_limit_mb, up to 2048"), "raise --memory, up to 2048");
  EXPECT_EQ(remedy_in_options("raise timeout_seconds, up to 60"), "raise --timeout, up to 60");
  EXPECT_EQ(remedy_in_options("-"), "-");
}

}  // namespace
}  // namespace server::client
