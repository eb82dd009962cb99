// A blocking HTTP client of a few lines, which can also send what no proper client would.
#pragma once

#include <chrono>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>

#include "jail/fd.h"

namespace server {

struct Answer {
  int status = 0;
  std::map<std::string, std::string> headers;  // names in lower case
  std::string body;
};

class TestClient {
 public:
  // `from`: the address that the server sees. `receive_buffer`: SO_RCVBUF in bytes; 0: the kernel's
  // choice.
  explicit TestClient(std::uint16_t port, const std::string& from = "127.0.0.1",
                      int receive_buffer = 0);

  void send(std::string_view bytes);
  // One response; nothing when the connection ends before it is complete, or nothing comes for
  // five seconds. `method` HEAD: no body is expected.
  std::optional<Answer> receive(std::string_view method = "GET");
  // The same without the body, which is then taken in chunks or as bytes.
  std::optional<Answer> receive_head();
  // The next chunk of a body, empty at its end. Nothing where the connection ends before it.
  std::optional<std::string> next_chunk();
  // As many bytes that are no HTTP; fewer when the connection ends or nothing comes.
  std::string take(std::size_t count);
  // True when the server closed the connection and nothing is left to read.
  bool at_end();
  // True when the server broke the connection off (RST).
  bool is_reset();
  bool has_input_within(std::chrono::milliseconds time);
  void stop_sending();
  void close() { socket_.reset(); }

  Answer exchange(std::string_view bytes);

 private:
  bool fill();
  std::optional<std::string> take_exactly(std::size_t count);

  jail::Fd socket_;
  std::string pending_;
};

std::string get(std::string_view path, std::string_view headers = {});
std::string post(std::string_view path, std::string_view body, std::string_view headers = {});

}  // namespace server
