#include "server/cli/sandbox/websocket_frames.h"

#include <algorithm>
#include <utility>

#include "runtime/json/base64.h"
#include "runtime/observe/uuid.h"
#include "runtime/store/digest.h"

namespace server::client {
namespace {

constexpr std::size_t key_bytes = 16;
constexpr std::size_t mask_bytes = 4;
constexpr std::uint64_t max_control_bytes = 125;
constexpr std::uint64_t max_text_bytes = 64u << 10;
constexpr std::uint16_t no_code = 1005;

unsigned byte_at(std::string_view bytes, std::size_t index) {
  return static_cast<unsigned char>(bytes[index]);
}

std::uint64_t big_endian(std::string_view bytes) {
  std::uint64_t number = 0;
  for (std::size_t i = 0; i < bytes.size(); ++i) number = number << 8 | byte_at(bytes, i);
  return number;
}

// The bytes of a frame's head, by what its second byte says of the length.
std::size_t head_bytes_of(unsigned short_length) {
  if (short_length == 126) return 4;
  return short_length == 127 ? 10 : 2;
}

}  // namespace

std::string new_websocket_key() { return runtime::json::base64(runtime::random_bytes(key_bytes)); }

std::string websocket_accept_of(std::string_view key) {
  constexpr std::string_view magic = "258EAFA5-E914-47DA-95CA-C5AB0DC85B11";
  return runtime::json::base64(runtime::sha1(std::string(key) += magic));
}

std::string frame_of(Opcode opcode, std::string_view payload) {
  constexpr unsigned is_final = 0x80;
  constexpr unsigned is_masked = 0x80;
  std::string frame;
  frame.reserve(payload.size() + 14);
  frame += static_cast<char>(is_final | static_cast<unsigned>(opcode));
  int length_bytes = 0;
  if (payload.size() < 126) {
    frame += static_cast<char>(is_masked | payload.size());
  } else {
    length_bytes = payload.size() <= 0xFFFF ? 2 : 8;
    frame += static_cast<char>(is_masked | (length_bytes == 2 ? 126u : 127u));
  }
  for (int i = length_bytes - 1; i >= 0; --i) {
    frame += static_cast<char>(payload.size() >> (8 * i) & 0xFF);
  }
  const std::string mask = runtime::random_bytes(mask_bytes);
  frame += mask;
  for (std::size_t i = 0; i < payload.size(); ++i) {
    frame += static_cast<char>(payload[i] ^ mask[i % mask_bytes]);
  }
  return frame;
}

// Returns true where the head is whole.
bool FrameReader::take_head(std::string_view& input) {
  while (!input.empty()) {
    head_ += input.front();
    input.remove_prefix(1);
    if (head_.size() < 2) continue;
    const unsigned short_length = byte_at(head_, 1) & 0x7F;
    if (head_.size() < head_bytes_of(short_length)) continue;
    const unsigned first = byte_at(head_, 0);
    is_final_ = (first & 0x80) != 0;
    opcode_ = static_cast<Opcode>(first & 0x0F);
    left_ = head_.size() == 2 ? short_length : big_endian(std::string_view(head_).substr(2));
    const bool is_control = (first & 0x08) != 0;
    const bool is_masked = (byte_at(head_, 1) & 0x80) != 0;
    const bool goes_on = message_ != Opcode::continuation;
    is_broken_ = (first & 0x70) != 0 || is_masked;
    if (is_control) {
      is_broken_ = is_broken_ || !is_final_ || left_ > max_control_bytes || opcode_ > Opcode::pong;
    } else {
      is_broken_ =
          is_broken_ || opcode_ > Opcode::binary || goes_on != (opcode_ == Opcode::continuation);
      if (!is_broken_ && !goes_on) message_ = opcode_;
      const bool is_text = message_ == Opcode::text;
      is_broken_ = is_broken_ || (is_text && left_ > max_text_bytes - kept_.size());
    }
    head_.clear();
    in_payload_ = true;
    return true;
  }
  return false;
}

FrameReader::Piece FrameReader::broken() {
  is_broken_ = true;
  return {.kind = Piece::Kind::broken, .bytes = {}, .code = 0};
}

// The piece that a frame is whose payload has ended; none where there is nothing to say of it.
FrameReader::Piece FrameReader::whole() {
  in_payload_ = false;
  if (opcode_ == Opcode::ping || opcode_ == Opcode::pong || opcode_ == Opcode::close) {
    given_ = std::exchange(control_, {});
    const std::string_view bytes = given_;
    if (opcode_ == Opcode::ping) return {.kind = Piece::Kind::ping, .bytes = bytes, .code = 0};
    if (opcode_ == Opcode::pong) return {};
    if (bytes.size() < 2) return {.kind = Piece::Kind::close, .bytes = {}, .code = no_code};
    return {.kind = Piece::Kind::close,
            .bytes = bytes.substr(2),
            .code = static_cast<std::uint16_t>(big_endian(bytes.substr(0, 2)))};
  }
  if (!is_final_) return {};
  if (std::exchange(message_, Opcode::continuation) != Opcode::text) return {};
  given_ = std::exchange(kept_, {});
  return {.kind = Piece::Kind::text, .bytes = given_, .code = 0};
}

FrameReader::Piece FrameReader::next(std::string_view& input) {
  if (is_broken_) return broken();
  for (;;) {
    if (!in_payload_ && !take_head(input)) return {};
    if (is_broken_) return broken();
    const auto count = static_cast<std::size_t>(std::min<std::uint64_t>(left_, input.size()));
    const std::string_view bytes = input.substr(0, count);
    input.remove_prefix(count);
    left_ -= count;
    const bool is_control = opcode_ >= Opcode::close;
    const bool is_binary = !is_control && message_ == Opcode::binary;
    if (is_control) control_ += bytes;
    if (!is_control && !is_binary) kept_ += bytes;
    if (left_ > 0 && !is_binary) return {};
    if (left_ == 0) {
      const Piece piece = whole();
      if (piece.kind != Piece::Kind::none) return piece;
    }
    if (is_binary && !bytes.empty()) {
      return {.kind = Piece::Kind::binary, .bytes = bytes, .code = 0};
    }
    if (input.empty()) return {};
  }
}

}  // namespace server::client
