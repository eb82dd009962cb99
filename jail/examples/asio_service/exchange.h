// One request, one jail, one coroutine.
#pragma once

#include <jail/jail.h>

#include <boost/asio/awaitable.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/posix/stream_descriptor.hpp>
#include <optional>
#include <string>

// A descriptor that belongs to somebody else, as Asio wants to see it.
class Watched {
 public:
  Watched(const boost::asio::any_io_executor& executor, int fd) : descriptor_(executor, fd) {}
  Watched(const Watched&) = delete;
  ~Watched() { descriptor_.release(); }  // or Asio would close it

  // Whether it is readable; not so where the wait was cancelled.
  boost::asio::awaitable<bool> readable();

 private:
  boost::asio::posix::stream_descriptor descriptor_;
};

// The program that a client sends. Nothing where what came is no such request; it has its answer
// then.
boost::asio::awaitable<std::optional<std::string>> receive(boost::asio::ip::tcp::socket& client);

// Answers the client with what `program` prints while it prints it, as an HTTP response in chunks
// with the trailer "Jail-Ended". Ends the jail when the client leaves or the time is up.
boost::asio::awaitable<void> run_for(boost::asio::ip::tcp::socket& client, jail::Jail jail,
                                     std::string program);

// An answer without a program: a status and a line of text.
boost::asio::awaitable<void> refuse(boost::asio::ip::tcp::socket& client, unsigned status,
                                    std::string reason);
