// Runs libcurl on an Asio loop with a thread of its own. Only polled_http.h and streamed_call.h use
// libcurl as well.
#pragma once

#include <boost/asio/executor_work_guard.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/posix/stream_descriptor.hpp>
#include <boost/asio/steady_timer.hpp>
#include <map>
#include <memory>
#include <mutex>
#include <thread>

#include "runtime/llm/curl_library.h"
#include "runtime/llm/curl_transfer.h"
#include "runtime/llm/http_call.h"

namespace runtime::llm {

class CurlLoop {
 public:
  explicit CurlLoop(HttpClientOptions options);
  ~CurlLoop();
  CurlLoop(const CurlLoop&) = delete;
  CurlLoop& operator=(const CurlLoop&) = delete;

  // May be called from any thread, also after close().
  void begin(std::shared_ptr<HttpCall> call, HttpRequest request);
  // Must be called when nobody awaits the call any more: closes its stream or connection.
  void drop(const std::shared_ptr<HttpCall>& call);
  // Ends all calls. When it returns, the thread has ended.
  void close();

 private:
  // Pairs curl_global_init(), which counts its calls, with its clean-up.
  struct Library {
    Library();
    ~Library();
    Library(const Library&) = delete;
    Library& operator=(const Library&) = delete;
  };

  struct MultiEnd {
    void operator()(CURLM* multi) const { curl().multi_cleanup(multi); }
  };

  void run();
  void add(std::shared_ptr<HttpCall> call, HttpRequest request);
  void remove(const HttpCall* call);
  void end_all();
  void wait_for_sockets();
  void on_sockets();
  void act(curl_socket_t socket, int events);
  void collect_ended();
  void end_answered();

  static int on_watch(CURL* easy, curl_socket_t socket, int what, void* self, void* unused);
  static int on_timer(CURLM* multi, long milliseconds, void* self);
  static int close_socket(void* self, curl_socket_t socket);

  const Library library_;
  const HttpClientOptions options_;
  boost::asio::io_context io_{1};
  boost::asio::executor_work_guard<boost::asio::io_context::executor_type> busy_;
  // An epoll instance with all sockets of libcurl; Asio sees only this one descriptor.
  boost::asio::posix::stream_descriptor sockets_;
  boost::asio::steady_timer timer_;
  std::unique_ptr<CURLM, MultiEnd> multi_;  // null: ended; an expired timer may come later
  std::map<const HttpCall*, std::unique_ptr<CurlTransfer>> transfers_;

  std::mutex mutex_;
  bool closed_ = false;
  std::thread thread_;
};

}  // namespace runtime::llm
