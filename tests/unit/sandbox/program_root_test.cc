#include "runtime/sandbox/program_root.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>

#include <algorithm>
#include <filesystem>
#include <fstream>

namespace runtime {
namespace {

namespace fs = std::filesystem;
using testing::ElementsAre;
using testing::HasSubstr;

// A directory tree that looks like a root; no program in it is run.
class ProgramRootTest : public testing::Test {
 protected:
  void SetUp() override {
    std::string name = testing::TempDir() + "/program-root.XXXXXX";
    ASSERT_NE(::mkdtemp(name.data()), nullptr);
    place_ = fs::canonical(name).string();
    ::chmod(place_.c_str(), 0755);
    fs::create_directories(place_ + "/usr/bin");
    fs::create_directories(place_ + "/etc");
    fs::permissions(place_ + "/usr", fs::perms(0755));
    fs::create_symlink("usr/bin", place_ + "/bin");
    program("python3.11");
    fs::create_symlink("python3.11", place_ + "/usr/bin/python3");
    program("bash");
  }
  void TearDown() override { fs::remove_all(place_); }

  void program(const std::string& name) {
    const std::string path = place_ + "/usr/bin/" + name;
    std::ofstream(path) << "#!";
    ::chmod(path.c_str(), 0755);
  }
  void manifest(const std::string& text) { std::ofstream(place_ + "/manifest.json") << text; }

  std::string error_of(const std::string& configured) {
    const auto root = find_program_root(configured, {});
    return root ? "no error" : root.error().message();
  }

  std::string place_;
};

TEST_F(ProgramRootTest, TakesThePlaceWithAManifest) {
  manifest(R"({"languages": {"python": "3.13.5", "bash": "5.2.37-2+b10", "node": "20.19.2"}})");
  const auto root = find_program_root("", {"/nonexistent/root", place_});
  ASSERT_TRUE(root) << root.error().message();
  EXPECT_EQ(root->kind, ProgramRoot::Kind::built);
  EXPECT_EQ(root->directory, place_);
  EXPECT_EQ(root->versions.at("python3"), "3.13.5");
  EXPECT_EQ(root->versions.at("bash"), "5.2.37");
  EXPECT_FALSE(root->versions.contains("node")) << "the manifest alone makes no program";
  EXPECT_THAT(describe(*root), HasSubstr("python 3.13.5, bash 5.2.37"));
}

TEST_F(ProgramRootTest, WhoNeedsNoVersionsGetsTheSameRootWithoutThem) {
  manifest("{\n \"format\": 1,\n \"languages\" : {\"python\": \"3.11.2\"}\n}\n");
  const auto root = find_program_root("", {place_}, Versions::unread);
  ASSERT_TRUE(root) << root.error().message();
  EXPECT_EQ(root->kind, ProgramRoot::Kind::built);
  EXPECT_EQ(root->directory, place_);
  EXPECT_EQ(root->versions.at("python3"), "");
  EXPECT_EQ(find_program_root("", {place_})->versions.at("python3"), "3.11.2");
}

TEST_F(ProgramRootTest, APlaceThatIsNotIntactIsPassedOver) {
  for (const char* text : {"", "{", "[]", "{}", R"({"languages": 1})"}) {
    manifest(text);
    const auto root = find_program_root("", {place_});
    ASSERT_TRUE(root) << root.error().message();
    EXPECT_EQ(root->kind, ProgramRoot::Kind::host) << text;
    const auto unread = find_program_root("", {place_}, Versions::unread);
    ASSERT_TRUE(unread) << unread.error().message();
    EXPECT_EQ(unread->kind, ProgramRoot::Kind::host) << text;
    EXPECT_NE(error_of(place_), "no error") << "named by the operator it is an error: " << text;
  }
}

// A link would lead to a file of the host, and a pipe would block.
TEST_F(ProgramRootTest, AManifestIsAFileOfTheTree) {
  const std::string path = place_ + "/manifest.json";
  const std::string elsewhere = place_ + "/elsewhere";
  std::ofstream(elsewhere) << R"({"languages": {"python": "3.13.5"}})";
  for (const std::string& text : {elsewhere, std::string("elsewhere"), std::string("nowhere"),
                                  std::string("/dev/zero"), std::string("manifest.json")}) {
    fs::create_symlink(text, path);
    EXPECT_THAT(error_of(place_), HasSubstr(path)) << text;
    EXPECT_EQ(find_program_root("", {place_})->kind, ProgramRoot::Kind::host);
    fs::remove(path);
  }
  ASSERT_EQ(::mkfifo(path.c_str(), 0644), 0);
  EXPECT_THAT(error_of(place_), HasSubstr(path + ": not a regular file"));
  EXPECT_EQ(find_program_root("", {place_})->kind, ProgramRoot::Kind::host);
  fs::remove(path);
  fs::rename(elsewhere, path);
  EXPECT_EQ(error_of(place_), "no error");
}

TEST_F(ProgramRootTest, ALinkIsFollowedOnce) {
  const std::string link = place_ + "/usr/current";
  fs::create_symlink(place_, link);
  const auto root = find_program_root(link, {});
  ASSERT_TRUE(root) << root.error().message();
  EXPECT_EQ(root->directory, place_);
  EXPECT_EQ(root->view->binds.front().source, place_ + "/usr");
}

TEST_F(ProgramRootTest, LinksInTheTreeStayLinks) {
  // On the host this link leads to the host's file.
  fs::create_symlink("/etc/hostname", place_ + "/etc/localtime");
  fs::create_directory_symlink("/etc/ssl", place_ + "/etc/ssl");
  std::ofstream(place_ + "/etc/mime.types") << "of the tree";
  const auto root = jail::directory_root(place_);
  ASSERT_TRUE(root) << root.error().message();
  std::vector<std::string> links;
  for (const auto& link : root->links) links.push_back(link.target + " " + link.points_to);
  EXPECT_THAT(links, ElementsAre("/bin usr/bin", "/etc/localtime /etc/hostname"));
  for (const auto& bind : root->binds) EXPECT_THAT(bind.source, HasSubstr(place_));
  EXPECT_TRUE(std::any_of(root->files.begin(), root->files.end(), [](const auto& file) {
    return file.target == "/etc/mime.types" && file.text == "of the tree";
  }));
}

TEST_F(ProgramRootTest, RefusesWhatOthersMayWriteInto) {
  fs::permissions(place_, fs::perms(0777));
  EXPECT_THAT(error_of(place_), HasSubstr("others than its owner may write"));
  fs::permissions(place_, fs::perms(0755));
  fs::permissions(place_ + "/usr", fs::perms(0775));
  EXPECT_THAT(error_of(place_), HasSubstr(place_ + "/usr as a root: others than its owner"));
  fs::permissions(place_ + "/usr", fs::perms(0755));
  EXPECT_EQ(error_of(place_), "no error");
}

TEST_F(ProgramRootTest, RefusesWhatIsNoTree) {
  EXPECT_THAT(error_of("/nonexistent/root"), HasSubstr("No such file"));
  EXPECT_THAT(error_of("relative"), HasSubstr("not an absolute path"));
  EXPECT_THAT(error_of("/"), HasSubstr("the host's own"));
  EXPECT_THAT(error_of(place_ + "/../../../../../../../../.."), HasSubstr("the host's own"));
  fs::rename(place_ + "/usr", place_ + "/moved");
  EXPECT_THAT(error_of(place_), HasSubstr("/usr as a root"));
  fs::create_directory_symlink("moved", place_ + "/usr");
  EXPECT_THAT(error_of(place_), HasSubstr("not a directory"));
}

TEST_F(ProgramRootTest, PythonMustBeThereAndBelongToTheTree) {
  fs::remove(place_ + "/usr/bin/python3");
  EXPECT_THAT(error_of(place_), HasSubstr("/usr/bin/python3"));
  // This path leads to a program only on the host.
  fs::create_symlink("/usr/bin/env", place_ + "/usr/bin/python3");
  EXPECT_THAT(error_of(place_), HasSubstr("/usr/bin/python3"));
}

TEST_F(ProgramRootTest, SaysWhyALanguageCannotRun) {
  const auto root = find_program_root(place_, {});
  ASSERT_TRUE(root) << root.error().message();
  EXPECT_EQ(why_not_available(Language::python, *root), std::nullopt);
  EXPECT_EQ(why_not_available(Language::javascript, *root),
            "javascript is not available here: this root has no /usr/bin/node; available are "
            "python, bash");
  program("node");
  const auto with_node = find_program_root(place_, {});
  EXPECT_EQ(why_not_available(Language::javascript, *with_node), std::nullopt);
  EXPECT_THAT(*why_not_available(Language::typescript, *with_node), HasSubstr("/usr/bin/esbuild"));
}

TEST(ProgramRootPlaces, TheUsersOwnCacheFirst) {
  EXPECT_THAT(default_root_places({{"HOME", "/home/u"}}),
              ElementsAre("/home/u/.cache/agent-sandbox/root", "/var/lib/agent-sandbox/root"));
  EXPECT_THAT(default_root_places({{"HOME", "/home/u"}, {"XDG_CACHE_HOME", "/cache"}}),
              ElementsAre("/cache/agent-sandbox/root", "/var/lib/agent-sandbox/root"));
  EXPECT_THAT(default_root_places({{"XDG_CACHE_HOME", "relative"}}),
              ElementsAre("/var/lib/agent-sandbox/root"));
}

}  // namespace
}  // namespace runtime
