// Loads the configuration from files and an environment of the test's own.
#pragma once

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <string>
#include <string_view>
#include <utility>

#include "runtime/config/config.h"

namespace runtime {

class ConfigTest : public ::testing::Test {
 protected:
  ConfigTest() {
    std::string name = (std::filesystem::temp_directory_path() / "config_test.XXXXXX").string();
    EXPECT_NE(::mkdtemp(name.data()), nullptr);
    before_ = std::filesystem::current_path();
    directory_ = name;
    std::filesystem::current_path(name);
  }
  ~ConfigTest() override {
    std::filesystem::current_path(before_);
    std::filesystem::remove_all(directory_);
  }

  void write(const std::string& name, std::string_view text) { std::ofstream(name) << text; }

  Config load() {
    find_default_files(sources_);
    auto config = load_config(sources_);
    EXPECT_TRUE(config.has_value()) << config.error().message();
    return config ? std::move(*config) : Config();
  }

  std::string error() {
    find_default_files(sources_);
    const auto config = load_config(sources_);
    if (config) return "accepted";
    const std::string message = config.error().message();
    EXPECT_EQ(message.find('\n'), message.npos) << message;
    return message;
  }

  std::string error_with(const std::string& name, const std::string& value) {
    sources_.environment = {{name, value}};
    return error();
  }

  std::string error_in_file(std::string_view text) {
    write("agent-sandbox.json", text);
    return error();
  }

  std::filesystem::path before_;
  std::string directory_;
  ConfigSources sources_;
};

}  // namespace runtime
