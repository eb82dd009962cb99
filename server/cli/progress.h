// A task as it goes on, on standard error.
#pragma once

#include <boost/asio/any_io_executor.hpp>
#include <boost/asio/steady_timer.hpp>
#include <chrono>
#include <memory>
#include <string>

#include "server/cli/progress_text.h"

namespace server {

// On a terminal the last line moves; elsewhere there are lines alone.
enum class ProgressPlace { terminal, lines };

// On one executor, which does one thing after the other.
class Progress : public std::enable_shared_from_this<Progress> {
 public:
  Progress(boost::asio::any_io_executor executor, int fd, ProgressPlace place, ProgressStyle style);

  void start();
  void add(const runtime::agent::Event& event);
  void finish(const runtime::agent::TaskResult& result);

 private:
  void show(const std::string& text);
  void draw();
  void tick();

  const int fd_;
  const ProgressPlace place_;
  ProgressText words_;
  boost::asio::steady_timer timer_;
  std::chrono::steady_clock::time_point since_;  // of what goes on now
  std::string doing_ = "starting";
  std::size_t characters_ = 0;  // of the model's answer so far
  std::size_t turn_ = 0;
  bool over_ = false;
};

}  // namespace server
