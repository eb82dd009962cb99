// The listening side: accepts clients, and keeps a pool of waiting jails for them. It uses one
// thread: jails run in processes of their own, and passing their output on needs no second one.
#pragma once

#include <jail/pool.h>

#include <boost/asio/awaitable.hpp>
#include <boost/asio/cancellation_signal.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/ip/tcp.hpp>

class Service {
 public:
  Service(boost::asio::io_context& io, boost::asio::ip::tcp::acceptor acceptor, jail::Pool pool);

  void start();

  // Accepts no more clients; io_context::run() returns when the accepted ones have their answers.
  void drain();

 private:
  boost::asio::awaitable<void> tend_pool();
  boost::asio::awaitable<void> accept();
  boost::asio::awaitable<void> serve(boost::asio::ip::tcp::socket client);
  boost::asio::awaitable<void> answer(boost::asio::ip::tcp::socket& client);
  boost::asio::awaitable<jail::Result<jail::Jail>> lease();
  void stop_if_drained();

  boost::asio::io_context& io_;
  boost::asio::ip::tcp::acceptor acceptor_;
  jail::Pool pool_;
  boost::asio::cancellation_signal stop_tending_;
  unsigned clients_ = 0;
};
