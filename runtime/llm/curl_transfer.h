// One request as a libcurl transfer. Must be used on the thread of its CurlLoop.
#pragma once

#include <array>
#include <cstddef>
#include <memory>
#include <string>

#include "runtime/llm/curl_library.h"
#include "runtime/llm/http_call.h"
#include "runtime/llm/http_text.h"

namespace runtime::llm {

class CurlTransfer {
 public:
  // The context of the callback that closes the sockets. A connection outlives the transfer that
  // made it, so the context outlives all connections.
  struct Sockets {
    curl_closesocket_callback close;
    void* context;
  };

  // `options` must outlive it.
  CurlTransfer(const HttpClientOptions& options, Sockets sockets, HttpRequest request,
               std::shared_ptr<HttpCall> call);
  ~CurlTransfer();
  CurlTransfer(const CurlTransfer&) = delete;
  CurlTransfer& operator=(const CurlTransfer&) = delete;

  CURL* easy() const noexcept { return easy_; }
  HttpCall& call() const noexcept { return *call_; }
  // Returns null if the transfer can run, else what could not be set up.
  const char* obstacle() const noexcept;

  // Returns true where the reply is there and its body is not wanted
  // (HttpClientOptions::heads_only), so the transfer need not go on.
  bool is_answered() const noexcept { return options_.heads_only && head_.is_final(); }

  // Reports the end to the call; must be called with CURLE_OK also where is_answered().
  void finish(CURLcode code);

 private:
  void set_request();
  void set_trust(const HttpClientOptions& options);
  void add_header(const std::string& line);
  template <class Value>
  void set(CURLoption option, Value value);
  HttpFault fault_of(CURLcode code) const;
  bool has_large_head() const noexcept;

  static curl_socket_t open_socket(void* self, curlsocktype purpose, curl_sockaddr* address);
  static std::size_t on_header(char* line, std::size_t size, std::size_t count, void* self);
  static std::size_t on_body(char* bytes, std::size_t size, std::size_t count, void* self);

  const HttpRequest request_;  // libcurl reads the body from here
  const std::shared_ptr<HttpCall> call_;
  const HttpClientOptions& options_;
  CURL* const easy_;
  curl_slist* lines_ = nullptr;
  CURLcode set_up_ = CURLE_OK;
  std::array<char, CURL_ERROR_SIZE> reason_{};
  HeadReader head_;
  std::size_t head_bytes_ = 0;
  std::size_t head_lines_ = 0;
  std::size_t body_bytes_ = 0;
  bool too_large_ = false;
  bool is_kept_away_ = false;  // HttpClientOptions::may_connect has refused at least one address
};

}  // namespace runtime::llm
