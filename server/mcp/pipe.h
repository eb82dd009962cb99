// The Model Context Protocol over two streams, a message a line, as a client uses it with a program
// that it starts. Source: the protocol's transport "stdio".
#pragma once

#include <boost/asio/any_io_executor.hpp>
#include <cstddef>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "runtime/observe/logger.h"
#include "server/mcp/mcp.h"

namespace server {

class McpPipe {
 public:
  // Longer lines are refused, and reading continues after them.
  static constexpr std::size_t max_line_bytes = 16u << 20;
  // The number of messages that are answered concurrently; further ones wait in the stream.
  static constexpr std::size_t max_at_once = 64;

  // The `executors` answer messages in turn; others must run them. The streams and referenced
  // objects must outlive it. Throws std::system_error where no descriptor is left.
  McpPipe(const Mcp& mcp, std::vector<boost::asio::any_io_executor> executors, int in, int out,
          runtime::Logger& logger);
  ~McpPipe();
  McpPipe(const McpPipe&) = delete;
  McpPipe& operator=(const McpPipe&) = delete;

  // Answers messages, each as soon as its answer is ready. Returns when the input has ended and
  // everything is answered; or, when nobody reads the output any more or stop() was called, as soon
  // as pending work is cancelled. Must be called once, by a thread that none of the executors need.
  void run();

  // Thread-safe.
  void stop();

 private:
  struct State;

  void take_input();
  void take_line(std::string line);
  void begin(std::string id, std::string message);
  void write_answers();
  bool write_whole(std::string_view bytes);

  const Mcp& mcp_;
  const std::vector<boost::asio::any_io_executor> executors_;
  const int in_;
  const int out_;
  runtime::Logger& logger_;
  const std::shared_ptr<State> state_;
  std::string line_;  // the part of the next line that has come
  bool is_skipping_ = false;
  bool input_ended_ = false;
  std::size_t begun_ = 0;
};

}  // namespace server
