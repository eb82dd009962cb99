// A blocking HTTP client of a few lines, which can also send malformed requests.
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
  // `from` is the address that the server sees. `receive_buffer` is SO_RCVBUF in bytes; 0: the
  // kernel's choice.
  explicit TestClient(std::uint16_t port, const std::string& from = "127.0.0.1",
                      int receive_buffer = 0);

  void send(std::string_view bytes);
  // Returns one response; std::nullopt when the connection ends before it is complete, or nothing
  // comes for five seconds. With the `method` HEAD no body is expected.
  std::optional<Answer> receive(std::string_view method = "GET");
  // The same without the body, which the test then takes in chunks or as bytes.
  std::optional<Answer> receive_head();
  // Returns the next chunk of a body, empty at its end; std::nullopt where the connection ends
  // before it.
  std::optional<std::string> next_chunk();
  // Returns `count` bytes that are not HTTP; fewer when the connection ends or nothing comes.
  std::string take(std::size_t count);
  // Returns true when the server closed the connection and nothing is left to read.
  bool at_end();
  // Returns true when the server broke the connection off (RST).
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
