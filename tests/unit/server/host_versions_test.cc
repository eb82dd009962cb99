#include "server/cli/host_versions.h"

#include <gtest/gtest.h>

namespace server {
namespace {

TEST(HostVersions, TheFirstNumberWithADotIsTheVersion) {
  EXPECT_EQ(version_in("GNU bash, version 5.2.15(1)-release (x86_64-pc-linux-gnu)\n"), "5.2.15");
  EXPECT_EQ(version_in("v18.20.4\n"), "18.20.4");
  EXPECT_EQ(version_in("0.17.0\n"), "0.17.0");
  EXPECT_EQ(version_in("copyright 2022. Version 7, or 3.1."), "3.1");
  for (const char* text : {"", "v", "12", "12.", "....", "no number\n"}) {
    EXPECT_EQ(version_in(text), "") << text;
  }
}

TEST(HostVersions, OnlyTheHostsOwnProgramsAreAsked) {
  runtime::ProgramRoot root;
  root.versions = {{"bash", ""}, {"python3", "3.1.4"}};
  root.kind = runtime::ProgramRoot::Kind::built;
  ask_host_versions(root);
  EXPECT_EQ(root.versions.at("bash"), "");
  root.kind = runtime::ProgramRoot::Kind::host;
  ask_host_versions(root);
  EXPECT_TRUE(root.versions.at("bash").starts_with("5.")) << root.versions.at("bash");
  EXPECT_EQ(root.versions.at("python3"), "3.1.4");
}

}  // namespace
}  // namespace server
