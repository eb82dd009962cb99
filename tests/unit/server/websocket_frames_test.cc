#include "server/cli/sandbox/websocket_frames.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <vector>

#include "server/cli/sandbox/listen_address.h"

namespace server::client {
namespace {

using ::testing::ElementsAre;
using Kind = FrameReader::Piece::Kind;

// What a reader gives of `bytes`, which come `step` at a time: binary bytes together, each other
// piece as "KIND:BYTES".
std::vector<std::string> pieces_of(std::string_view bytes, std::size_t step) {
  FrameReader reader;
  std::vector<std::string> pieces;
  std::string binary;
  while (!bytes.empty()) {
    std::string_view some = bytes.substr(0, step);
    bytes.remove_prefix(some.size());
    for (;;) {
      const auto piece = reader.next(some);
      if (piece.kind == Kind::none) break;
      if (piece.kind == Kind::binary) {
        binary += piece.bytes;
        continue;
      }
      if (!binary.empty()) pieces.push_back("binary:" + binary);
      binary.clear();
      const std::string text(piece.bytes);
      if (piece.kind == Kind::text) pieces.push_back("text:" + text);
      if (piece.kind == Kind::ping) pieces.push_back("ping:" + text);
      if (piece.kind == Kind::close) {
        pieces.push_back("close:" + std::to_string(piece.code) + ":" + text);
      }
      if (piece.kind != Kind::broken) continue;
      pieces.emplace_back("broken");
      return pieces;
    }
  }
  if (!binary.empty()) pieces.push_back("binary:" + binary);
  return pieces;
}

std::string bytes_of(std::string_view text) { return std::string(text); }

TEST(WebsocketFrames, PiecesAreTheSameHoweverTheirBytesCome) {
  using namespace std::string_view_literals;
  // A binary message in two fragments with a ping and a pong between, a text message, a close.
  const std::string all = bytes_of("\x02\x03one\x89\x02hi\x8a\x00\x80\x03two\x81\x04text"sv) +
                          bytes_of("\x82\x00\x88\x05\x0f\xa1"sv) + "end";
  for (const std::size_t step : {1u, 2u, 3u, 7u, 100u}) {
    EXPECT_THAT(pieces_of(all, step),
                ElementsAre("binary:one", "ping:hi", "binary:two", "text:text", "close:4001:end"))
        << step;
  }
}

TEST(WebsocketFrames, LongLengths) {
  const std::string middle(300, 'm');
  const std::string large(70'000, 'l');
  const std::string all = std::string("\x82\x7e\x01\x2c", 4) + middle +
                          std::string("\x82\x7f\0\0\0\0\0\x01\x11\x70", 10) + large;
  EXPECT_THAT(pieces_of(all, 1000), ElementsAre("binary:" + middle + large));
}

TEST(WebsocketFrames, WhatIsNoFrameOfAServerBreaks) {
  const std::string cases[] = {
      std::string("\x82\x81\0\0\0\0x", 7),                          // masked
      std::string("\xc2\x01x", 3),                                  // an extension
      std::string("\x80\x01x", 3),                                  // goes on from nothing
      std::string("\x02\x01x\x82\x01x", 6),                         // begins within another
      std::string("\x09\x00", 2),                                   // a control frame in fragments
      std::string("\x89\x7e\x01\x2c", 4),                           // a large one
      std::string("\x83\x00", 2),                                   // unknown
      std::string("\x8b\x00", 2),                                   // unknown, for control
      std::string("\x81\x7f\0\0\0\0\0\x02\0\0", 10),                // a text without bound
      std::string("\x81\x7f\xff\xff\xff\xff\xff\xff\xff\xff", 10),  // and one beyond all numbers
  };
  for (const std::string& bytes : cases) {
    EXPECT_EQ(pieces_of(bytes, 100).back(), "broken") << ::testing::PrintToString(bytes);
  }
}

TEST(WebsocketFrames, FramesOfAClientAreMasked) {
  for (const std::size_t size : {0u, 5u, 125u, 126u, 65'535u, 65'536u, 100'000u}) {
    const std::string payload(size, 'x');
    const std::string frame = frame_of(Opcode::binary, payload);
    const std::size_t head = size < 126 ? 2 : size < 65'536 ? 4 : 10;
    ASSERT_EQ(frame.size(), head + 4 + size);
    EXPECT_EQ(frame[0], '\x82');
    EXPECT_NE(frame[1] & 0x80, 0);
    std::string plain;
    for (std::size_t i = 0; i < size; ++i) {
      plain += static_cast<char>(frame[head + 4 + i] ^ frame[head + i % 4]);
    }
    EXPECT_EQ(plain, payload);
  }
}

TEST(WebsocketFrames, TheAnswerToAKey) {
  // The example of RFC 6455, section 1.3.
  EXPECT_EQ(websocket_accept_of("dGhlIHNhbXBsZSBub25jZQ=="), "s3pPLMBiTxaQ9kYGzzhZRbK+xOo=");
  EXPECT_EQ(new_websocket_key().size(), 24u);
  EXPECT_NE(new_websocket_key(), new_websocket_key());
}

TEST(ListenAddress, AnAddressIsOneOfDigits) {
  struct Case {
    const char* text;
    const char* address;
    int port;
  };
  for (const auto& [text, address, port] :
       {Case{"5432", "127.0.0.1", 5432}, Case{"0", "127.0.0.1", 0},
        Case{"0.0.0.0:80", "0.0.0.0", 80}, Case{"localhost:80", "127.0.0.1", 80},
        Case{"[::1]:65535", "::1", 65535}, Case{"[fe80::1]:1", "fe80::1", 1}}) {
    const auto listen = listen_address_of(text);
    ASSERT_TRUE(listen) << text;
    EXPECT_EQ(listen->address, address);
    EXPECT_EQ(listen->port, port);
  }
  for (const char* text :
       {"", ":", "x", "65536", "-1", "80 ", "a.org:80", "::1:80", "[::1]", "[::1", "127.0.0.1",
        "127.0.0.1:", ":80", "[127.0.0.1]:80", "1.2.3:80"}) {
    EXPECT_FALSE(listen_address_of(text)) << text;
  }
}

}  // namespace
}  // namespace server::client
