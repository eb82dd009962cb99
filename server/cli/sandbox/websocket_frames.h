// WebSocket as a client speaks it (RFC 6455): the handshake, and frames as bytes.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

namespace server::client {

enum class Opcode : std::uint8_t {
  continuation = 0,
  text = 1,
  binary = 2,
  close = 8,
  ping = 9,
  pong = 10
};

// 16 random bytes in base64, for the header Sec-WebSocket-Key; and the server's answer to it.
std::string new_websocket_key();
std::string websocket_accept_of(std::string_view key);

// A whole frame, masked as a client has to.
std::string frame_of(Opcode opcode, std::string_view payload);

// Reads the frames of a server, wherever their bytes are parted.
class FrameReader {
 public:
  // One piece of what has come.
  struct Piece {
    enum class Kind : std::uint8_t {
      none,    // the bytes so far end here
      binary,  // some bytes of a binary message
      text,    // a whole text message
      ping,
      close,
      broken,  // these bytes are not WebSocket; nothing more can be read
    } kind = Kind::none;
    std::string_view bytes;  // valid until the next call; of close: the reason
    std::uint16_t code = 0;  // of close; 1005: it names none
  };

  // Takes bytes off the front of `input`, up to the end of one piece.
  Piece next(std::string_view& input);

 private:
  bool take_head(std::string_view& input);
  Piece whole();
  Piece broken();

  std::string head_;
  bool in_payload_ = false;
  bool is_final_ = false;
  bool is_broken_ = false;
  Opcode opcode_ = Opcode::continuation;
  Opcode message_ = Opcode::continuation;  // of the message that goes on; continuation: none
  std::uint64_t left_ = 0;                 // bytes of the payload that have not come
  std::string kept_;                       // of a text message
  std::string control_;                    // of a control frame
  std::string given_;                      // what the last piece points to
};

}  // namespace server::client
