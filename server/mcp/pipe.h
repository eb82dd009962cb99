// The Model Context Protocol over two streams, a message a line, as a client speaks it with a
// program that it starts. Source: the protocol's transport "stdio".
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
  // Longer lines are refused, and what follows them is read.
  static constexpr std::size_t max_line_bytes = 16u << 20;
  // Messages that are dealt with at a time; the others wait in the stream.
  static constexpr std::size_t max_at_once = 64;

  // Messages are dealt with by `executors` in turn, which others run. The streams and what is
  // passed by reference outlive it. Throws std::system_error where no descriptor is left.
  McpPipe(const Mcp& mcp, std::vector<boost::asio::any_io_executor> executors, int in, int out,
          runtime::Logger& logger);
  ~McpPipe();
  McpPipe(const McpPipe&) = delete;
  McpPipe& operator=(const McpPipe&) = delete;

  // Answers what comes, each message when it is done. Returns when the input has ended and all is
  // answered; when nobody reads the output any more, or stop() was called, as soon as what was
  // being done is cancelled. To be called once, by a thread that none of the executors need.
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
  std::string line_;  // what has come of the next one
  bool is_skipping_ = false;
  bool input_ended_ = false;
  std::size_t begun_ = 0;
};

}  // namespace server
