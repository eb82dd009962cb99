// A launcher over a cgroup of its own. JAIL_TEST_CGROUP names a directory that this user may write,
// with the controllers memory, pids and cpu; without it every test is skipped.
#pragma once

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "jail/cgroup.h"
#include "jail/launcher.h"
#include "tests/time_scale.h"

class Cgroup : public testing::Test {
 public:
  // The users of the host of which each jail gets one, where JAIL_TEST_OWN_IDS is set.
  static inline std::shared_ptr<const jail::IdRange> ids;

 protected:
  void SetUp() override {
    const char* parent = std::getenv("JAIL_TEST_CGROUP");
    if (parent == nullptr) GTEST_SKIP() << "JAIL_TEST_CGROUP names no cgroup v2 directory";
    place_ = make_place(parent);
    auto tree = jail::CgroupTree::adopt(place_);
    ASSERT_TRUE(tree) << tree.error().message();
    tree_ = *tree;
    auto launcher = jail::Launcher::start({.cgroups = std::move(*tree), .egress = {}, .ids = ids});
    ASSERT_TRUE(launcher) << launcher.error().message();
    launcher_ = std::make_unique<jail::Launcher>(std::move(*launcher));
  }

  static std::string make_place(const std::string& parent) {
    static int made = 0;
    const std::string place =
        parent + "/test-" + std::to_string(::getpid()) + "-" + std::to_string(++made);
    EXPECT_TRUE(std::filesystem::create_directory(place)) << place;
    return place;
  }

  static jail::JailSpec program(std::vector<std::string> argv) {
    jail::JailSpec spec;
    spec.argv = std::move(argv);
    spec.env = {"PATH=/usr/bin:/bin"};
    spec.root = jail::host_root();
    auto filter = jail::compile_policy(jail::default_policy());
    EXPECT_TRUE(filter) << filter.error().message();
    spec.filter = *filter;
    spec.limits.wall = patience;
    spec.limits.cpu = patience;
    spec.limits.memory_bytes = 64u << 20;
    return spec;
  }

  static jail::JailSpec python(const std::string& code) {
    return program({"/usr/bin/python3", "-I", "-S", "-c", code});
  }

  jail::Result<jail::Jail> started(const jail::JailSpec& spec) {
    auto jail = launcher_->launch(spec);
    if (!jail) return jail;
    if (auto ready = jail->wait(jail::Phase::ready, patience); !ready) return ready.error();
    if (auto running = jail->start(); !running) return running.error();
    return jail;
  }

  jail::ExitReport run(const jail::JailSpec& spec) {
    auto jail = started(spec);
    EXPECT_TRUE(jail) << jail.error().message();
    if (!jail) return {};
    return collect(*jail);
  }

  // Collects the output and the report of a started jail, at its end.
  jail::ExitReport collect(jail::Jail& jail) {
    auto output = jail.communicate();
    EXPECT_TRUE(output) << output.error().message();
    if (!output) return {};
    out_ = std::move(output->out);
    err_ = std::move(output->err);
    return jail.report();
  }

  // Reads a pipe whose other end is closed: at most one pipe's buffer.
  static std::string text_of(const jail::Fd& pipe) {
    char text[65536];
    const ssize_t got = ::read(pipe.get(), text, sizeof text);
    return got > 0 ? std::string(text, static_cast<std::size_t>(got)) : "";
  }

  std::size_t leaves() const {
    std::size_t count = 0;
    for (const auto& entry : std::filesystem::directory_iterator(place_)) {
      if (entry.path().filename().string().starts_with("jail-")) ++count;
    }
    return count;
  }

  // Returns the number of leaves after everything that ends has had the time for it.
  std::size_t leaves_at_rest() const {
    const auto deadline = std::chrono::steady_clock::now() + patience;
    while (tree_->remove_ended() > 0 && std::chrono::steady_clock::now() < deadline) {
      std::this_thread::sleep_for(std::chrono::milliseconds(10));
    }
    return leaves();
  }

  static inline const std::chrono::milliseconds patience = scaled(std::chrono::seconds(5));
  std::string place_;
  std::string out_;
  std::string err_;
  std::optional<jail::CgroupTree> tree_;
  std::unique_ptr<jail::Launcher> launcher_;
};
