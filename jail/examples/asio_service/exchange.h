// One request, one jail, one coroutine.
#pragma once

#include <jail/jail.h>

#include <boost/asio/awaitable.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/posix/stream_descriptor.hpp>
#include <optional>
#include <string>

// A descriptor that somebody else owns, in the form that Asio needs.
class Watched {
 public:
  Watched(const boost::asio::any_io_executor& executor, int fd) : descriptor_(executor, fd) {}
  Watched(const Watched&) = delete;
  ~Watched() { descriptor_.release(); }  // otherwise Asio would close it

  // Returns whether it is readable; false where the wait was cancelled.
  boost::asio::awaitable<bool> readable();

 private:
  boost::asio::posix::stream_descriptor descriptor_;
};

// Receives the program that a client sends. Returns std::nullopt where it was not a valid request,
// which has then been answered.
boost::asio::awaitable<std::optional<std::string>> receive(boost::asio::ip::tcp::socket& client);

// Sends the client the output of `program` while it is printed, as an HTTP response in chunks with
// the trailer "Jail-Ended". Ends the jail when the client leaves or the time is up.
boost::asio::awaitable<void> run_for(boost::asio::ip::tcp::socket& client, jail::Jail jail,
                                     std::string program);

// Sends an answer without a program: a status and a line of text.
boost::asio::awaitable<void> refuse(boost::asio::ip::tcp::socket& client, unsigned status,
                                    std::string reason);
