// What a jail reaches of the network by name: only what it was given.
#include "jail/egress.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <poll.h>
#include <signal.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <chrono>
#include <filesystem>
#include <fstream>
#include <functional>
#include <thread>

#include "guest.h"
#include "jail/pool.h"
#include "processes.h"
#include "web_site.h"

namespace kernel_ring {
namespace {

using jail::EgressDecision;
using jail::EgressProxy;
using jail::ErrorKind;
using jail::Network;
using testing::HasSubstr;

constexpr std::chrono::seconds patience{30};

bool within_patience(const std::function<bool()>& condition) {
  const auto deadline = std::chrono::steady_clock::now() + patience;
  while (!condition()) {
    if (std::chrono::steady_clock::now() > deadline) return false;
    std::this_thread::sleep_for(std::chrono::milliseconds(5));
  }
  return true;
}

// A launcher whose jails can be given a way out, and a site there by the name of site.test.
class Egress : public testing::Test {
 protected:
  void SetUp() override {
    jail::EgressOptions options;
    options.addresses = {{"site.test", "127.0.0.1"}, {"inner.test", "127.0.0.1"}};
    auto proxy = EgressProxy::start(options);
    ASSERT_TRUE(proxy) << proxy.error().message();
    proxy_ = std::make_shared<EgressProxy>(std::move(*proxy));
    auto launcher = jail::Launcher::start({.cgroups = {}, .egress = proxy_, .ids = ids_of_jails()});
    ASSERT_TRUE(launcher) << launcher.error().message();
    launcher_.emplace(std::move(*launcher));
  }

  Network to_site() const {
    return Network::allow({"site.test:" + site_.port(), "127.0.0.0/8:" + site_.port()}, "label");
  }

  jail::JailSpec python(std::string code, Network network) const {
    jail::JailSpec spec = spec_for({"/usr/bin/python3", "-c", std::move(code)});
    spec.network = std::move(network);
    spec.limits.wall = patience;
    return spec;
  }

  Outcome run(const jail::JailSpec& spec) const {
    auto jail = launcher_->launch(spec);
    EXPECT_TRUE(jail) << jail.error().message();
    if (!jail) return {};
    const auto ready = jail->wait(jail::Phase::ready, patience);
    EXPECT_TRUE(ready) << ready.error().message();
    if (!ready) return {};
    EXPECT_TRUE(jail->start());
    return collect(*jail);
  }

  Outcome fetch(const std::string& url, Network network) const {
    return run(
        python("import urllib.request\n"
               "try:\n"
               "    print(urllib.request.urlopen('" +
                   url +
                   "').read().decode())\n"
                   "except Exception as error:\n"
                   "    print(error, getattr(error, 'read', lambda: b'')().decode())\n",
               std::move(network)));
  }

  EgressDecision next_decision() {
    std::vector<EgressDecision> all;
    EXPECT_TRUE(within_patience([&] {
      auto more = proxy_->decisions();
      EXPECT_TRUE(more) << more.error().message();
      if (more) all.insert(all.end(), more->begin(), more->end());
      return !all.empty();
    }));
    return all.empty() ? EgressDecision{} : all.front();
  }

  WebSite site_;
  std::shared_ptr<EgressProxy> proxy_;
  std::optional<jail::Launcher> launcher_;
};

TEST_F(Egress, ANamedDestinationIsReached) {
  const Outcome outcome = fetch("http://site.test:" + site_.port() + "/", to_site());
  EXPECT_EQ(outcome.out, "hello\n") << outcome.err;
  const EgressDecision decision = next_decision();
  EXPECT_TRUE(decision.allowed);
  EXPECT_EQ(decision.jail, "label");
  EXPECT_EQ(decision.destination, "site.test:" + site_.port());
  EXPECT_THAT(decision.address, HasSubstr("127.0.0.1"));
}

TEST_F(Egress, AnotherDestinationIsRefusedAndTold) {
  const Outcome outcome = fetch("http://other.test:" + site_.port() + "/", to_site());
  EXPECT_THAT(outcome.out, HasSubstr("403"));
  EXPECT_THAT(outcome.out, HasSubstr("other.test:" + site_.port()));
  const EgressDecision decision = next_decision();
  EXPECT_FALSE(decision.allowed);
  EXPECT_EQ(decision.destination, "other.test:" + site_.port());
  EXPECT_EQ(site_.answered(), 0);
}

TEST_F(Egress, APrivateAddressBehindANameIsRefused) {
  const Outcome outcome = fetch("http://inner.test:" + site_.port() + "/",
                                Network::allow({"inner.test:" + site_.port()}));
  EXPECT_THAT(outcome.out, HasSubstr("403"));
  EXPECT_EQ(site_.answered(), 0);
}

TEST_F(Egress, ThereIsNoOtherWayOut) {
  const Outcome outcome = run(python(R"(
import errno, socket
def attempt(family, address):
    with socket.socket(family, socket.SOCK_STREAM) as probe:
        probe.settimeout(5)
        try:
            probe.connect(address)
            return "connected"
        except OSError as error:
            return errno.errorcode.get(error.errno, str(error))
site = ("127.0.0.1", )" + site_.port() + R"()
print(attempt(socket.AF_INET, site), attempt(socket.AF_INET, ("192.0.2.1", 80)),
      attempt(socket.AF_INET6, ("2001:db8::1", 80)))
try:
    print(socket.getaddrinfo("site.test", 80))
except OSError as error:
    print("no names")
)",
                                     to_site()));
  EXPECT_EQ(outcome.out, "ECONNREFUSED ENETUNREACH ENETUNREACH\nno names\n") << outcome.err;
  EXPECT_EQ(site_.answered(), 0);
}

TEST_F(Egress, EachJailHasItsOwnRules) {
  auto other = launcher_->launch(python("import time; time.sleep(20)", to_site()));
  ASSERT_TRUE(other) << other.error().message();
  ASSERT_TRUE(other->wait(jail::Phase::ready, patience));
  const Outcome outcome =
      fetch("http://site.test:" + site_.port() + "/", Network::allow({"elsewhere.test:443"}));
  EXPECT_THAT(outcome.out, HasSubstr("403"));
  EXPECT_EQ(site_.answered(), 0);
}

TEST_F(Egress, ItsConnectionsEndWithAJail) {
  auto jail =
      launcher_->launch(python("import urllib.request\n"
                               "urllib.request.urlopen('http://site.test:" +
                                   site_.port() + "/hold')",
                               to_site()));
  ASSERT_TRUE(jail) << jail.error().message();
  ASSERT_TRUE(jail->wait(jail::Phase::ready, patience));
  ASSERT_TRUE(jail->start());
  ASSERT_TRUE(within_patience([&] { return site_.holds(); }));
  EXPECT_FALSE(site_.holder_left());
  jail->kill(jail::Ended::cancelled);
  EXPECT_TRUE(within_patience([&] { return site_.holder_left(); }));
}

TEST_F(Egress, JailsOfAPoolHaveTheirTemplatesWayOut) {
  jail::TemplateSpec spec;
  spec.name = "python";
  spec.jail = spec_for({"/usr/bin/python3", "/workspace/main.py"});
  spec.jail.network = to_site();
  auto pool = jail::Pool::open(*launcher_, spec, {.least = 1, .usual = 2, .most = 4});
  ASSERT_TRUE(pool) << pool.error().message();
  for (int round = 1; round <= 6; ++round) {
    ASSERT_TRUE(within_patience([&] {
      pool->advance();
      return pool->state().ready > 0;
    })) << pool->state().trouble;
    auto jail = pool->lease();
    ASSERT_TRUE(jail) << jail.error().message();
    ASSERT_TRUE(jail->write_file("main.py",
                                 "import urllib.request\n"
                                 "print(urllib.request.urlopen('http://site.test:" +
                                     site_.port() + "/').read().decode())",
                                 0644));
    ASSERT_TRUE(jail->start());
    EXPECT_EQ(collect(*jail).out, "hello\n");
    EXPECT_EQ(site_.answered(), round);
  }
}

// Returns the value of `name` in a status file of /proc.
std::string status_of(const std::filesystem::path& task, const std::string& name) {
  std::ifstream status(task / "status");
  for (std::string line; std::getline(status, line);) {
    if (line.starts_with(name + ":\t")) return line.substr(name.size() + 2);
  }
  return "none";
}

// Returns the directories of its threads.
std::vector<std::filesystem::path> tasks_of(pid_t pid) {
  std::vector<std::filesystem::path> tasks;
  for (const auto& task :
       std::filesystem::directory_iterator("/proc/" + std::to_string(pid) + "/task")) {
    tasks.push_back(task.path());
  }
  return tasks;
}

void expect_confined(const std::vector<std::filesystem::path>& tasks) {
  for (const auto& task : tasks) {
    EXPECT_EQ(status_of(task, "Seccomp"), "2") << task;
    EXPECT_EQ(status_of(task, "NoNewPrivs"), "1") << task;
  }
}

TEST_F(Egress, TheProxyAndItsLookUpsAreConfinedInEachThread) {
  const pid_t proxy = process_of(proxy_->process_fd());
  ASSERT_GT(proxy, 0);
  expect_confined(tasks_of(proxy));
  EXPECT_EQ(tasks_of(proxy).size(), 1u);
  pid_t look_ups = 0;
  for (const pid_t child : children_of(::getpid())) {
    const auto name = status_of("/proc/" + std::to_string(child), "Name");
    if (name == "jail-lookup") look_ups = child;
  }
  ASSERT_GT(look_ups, 0);
  // The threads are made after it has said that it is confined.
  EXPECT_TRUE(soon([&] { return tasks_of(look_ups).size() == 5; }));
  expect_confined(tasks_of(look_ups));
}

TEST_F(Egress, AVariableThatIsGivenIsKept) {
  jail::JailSpec spec =
      python("import os; print(os.environ['http_proxy'], os.environ['ALL_PROXY'])", to_site());
  spec.env.emplace_back("http_proxy=http://localhost:1");
  EXPECT_EQ(run(spec).out, "http://localhost:1 socks5h://127.0.0.1:3128\n");
}

TEST_F(Egress, WithoutAnyNetworkLoopbackIsDown) {
  const std::string code =
      "import errno, socket\n"
      "print(errno.errorcode[socket.socket().connect_ex(('127.0.0.1', 80))])";
  EXPECT_EQ(run(python(code, Network::none())).out, "ENETUNREACH\n");
  EXPECT_EQ(run(python(code, Network::loopback())).out, "ECONNREFUSED\n");
}

TEST_F(Egress, WhatCannotBeIsNamed) {
  const auto bad = launcher_->launch(python("pass", Network::allow({"a.test:1", "b.test"})));
  ASSERT_FALSE(bad);
  EXPECT_EQ(bad.error().kind, ErrorKind::invalid);
  EXPECT_THAT(bad.error().message(), HasSubstr("network.rules[1]"));
  Network contradictory = Network::loopback();
  contradictory.rules = {"a.test:1"};
  EXPECT_FALSE(launcher_->launch(python("pass", contradictory)));
  const auto no_proxy = launcher().launch(python("pass", to_site()));
  ASSERT_FALSE(no_proxy);
  EXPECT_THAT(no_proxy.error().message(), HasSubstr("LauncherOptions::egress"));
}

TEST_F(Egress, ALostProxyIsAnErrorAndNoWayOut) {
  ASSERT_EQ(::syscall(SYS_pidfd_send_signal, proxy_->process_fd(), SIGKILL, nullptr, 0), 0);
  pollfd ended{proxy_->process_fd(), POLLIN, 0};
  ASSERT_EQ(::poll(&ended, 1, 30'000), 1);
  const auto jail = launcher_->launch(python("pass", to_site()));
  ASSERT_FALSE(jail);
  EXPECT_EQ(jail.error().kind, ErrorKind::closed) << jail.error().message();
}

}  // namespace
}  // namespace kernel_ring
