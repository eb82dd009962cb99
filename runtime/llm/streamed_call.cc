#include "runtime/llm/streamed_call.h"

#include <strings.h>

#include <cstddef>
#include <memory>

#include "runtime/llm/curl_library.h"
#include "runtime/llm/curl_trust.h"
#include "runtime/llm/http_text.h"

namespace runtime::llm {
namespace {

constexpr std::size_t max_streamed_head_bytes = 256u << 10;
constexpr std::size_t max_streamed_head_lines = 200;
// libcurl knows its own timeouts; this bounds how long the end of interest can go unseen.
constexpr int longest_streamed_wait_milliseconds = 1'000;

// curl_global_init() counts its calls.
struct StreamedLibrary {
  StreamedLibrary() { curl().global_init(CURL_GLOBAL_DEFAULT); }
  ~StreamedLibrary() { curl().global_cleanup(); }
  StreamedLibrary(const StreamedLibrary&) = delete;
  StreamedLibrary& operator=(const StreamedLibrary&) = delete;
};

struct StreamedEasyEnd {
  void operator()(CURL* easy) const { curl().easy_cleanup(easy); }
};

struct StreamedMultiEnd {
  void operator()(CURLM* multi) const { curl().multi_cleanup(multi); }
};

struct StreamedLinesEnd {
  void operator()(curl_slist* lines) const { curl().slist_free_all(lines); }
};

class StreamedCall {
 public:
  StreamedCall(const StreamedRequest& request, const StreamedOptions& options)
      : request_(request),
        options_(options),
        multi_(curl().multi_init()),
        easy_(curl().easy_init()) {}

  StreamedEnd run() {
    if (multi_ == nullptr || easy_ == nullptr) return StreamedEnd::impossible;
    set_connection();
    set_request();
    if (!is_set_up_) return StreamedEnd::impossible;
    if (curl().multi_add_handle(multi_.get(), easy_.get()) != CURLM_OK) {
      return StreamedEnd::impossible;
    }
    const StreamedEnd end = loop();
    curl().multi_remove_handle(multi_.get(), easy_.get());
    return end;
  }

 private:
  template <class Value>
  void set(CURLoption option, Value value) {
    if (curl().easy_setopt(easy_.get(), option, value) != CURLE_OK) is_set_up_ = false;
  }
  void set_connection();
  void set_request();
  void add_header(const std::string& line);
  StreamedEnd loop();
  StreamedEnd end_of(CURLcode code) const;

  static curl_socket_t open_socket(void* self, curlsocktype purpose, curl_sockaddr* address);
  static int on_ready(void* self, char* address, char* own, int port, int own_port);
  static std::size_t on_header(char* line, std::size_t size, std::size_t count, void* self);
  static std::size_t on_body(char* bytes, std::size_t size, std::size_t count, void* self);

  const StreamedLibrary library_;
  const StreamedRequest& request_;
  const StreamedOptions& options_;
  std::unique_ptr<curl_slist, StreamedLinesEnd> lines_;
  const std::unique_ptr<CURLM, StreamedMultiEnd> multi_;
  const std::unique_ptr<CURL, StreamedEasyEnd> easy_;
  bool is_set_up_ = true;
  HeadReader head_;
  std::size_t head_bytes_ = 0;
  std::size_t head_lines_ = 0;
  std::uint64_t body_bytes_ = 0;
  bool has_head_ = false;
  bool is_kept_away_ = false;
  bool is_abandoned_ = false;
  bool is_too_large_ = false;
};

void StreamedCall::set_connection() {
  set(CURLOPT_NOSIGNAL, 1L);
  // Without CURLOPT_QUICK_EXIT a call that is abandoned waits for its look-up, so whoever bounds
  // the number of calls has bounded that of look-ups, each of which is a thread.
  set(CURLOPT_OPENSOCKETFUNCTION, &StreamedCall::open_socket);
  set(CURLOPT_OPENSOCKETDATA, this);
  set(CURLOPT_PREREQFUNCTION, &StreamedCall::on_ready);
  set(CURLOPT_PREREQDATA, this);
  set(CURLOPT_CONNECTTIMEOUT_MS, static_cast<long>(options_.connect_timeout.count()));
  set(CURLOPT_LOW_SPEED_LIMIT, 1L);
  set(CURLOPT_LOW_SPEED_TIME, static_cast<long>(options_.idle.count()));
  set(CURLOPT_TIMEOUT_MS, static_cast<long>(options_.longest.count()) * 1000);
  set_curl_trust([this](CURLoption option, auto value) { set(option, value); }, "https",
                 options_.ca_file, "");
  set(CURLOPT_FORBID_REUSE, 1L);
  set(CURLOPT_HTTP_VERSION, static_cast<long>(CURL_HTTP_VERSION_1_1));
}

void StreamedCall::add_header(const std::string& line) {
  curl_slist* const longer = curl().slist_append(lines_.get(), line.c_str());
  if (longer == nullptr) {
    is_set_up_ = false;
    return;
  }
  static_cast<void>(lines_.release());  // now a part of `longer`
  lines_.reset(longer);
}

void StreamedCall::set_request() {
  set(CURLOPT_URL, request_.origin.c_str());
  set(CURLOPT_REQUEST_TARGET, request_.target.c_str());
  if (request_.method == "HEAD") {
    set(CURLOPT_NOBODY, 1L);
  } else if (request_.method != "GET" || !request_.body.empty()) {
    if (request_.method == "POST" || request_.method == "PUT" || !request_.body.empty()) {
      set(CURLOPT_POSTFIELDSIZE_LARGE, static_cast<curl_off_t>(request_.body.size()));
      set(CURLOPT_POSTFIELDS, request_.body.data());
    }
    set(CURLOPT_CUSTOMREQUEST, request_.method.c_str());
  }
  // libcurl would add these by itself.
  for (const char* const own : {"Accept", "Content-Type", "Expect"}) {
    bool is_given = false;
    for (const auto& [name, value] : request_.headers) {
      is_given = is_given || ::strcasecmp(name.c_str(), own) == 0;
    }
    if (!is_given) add_header(std::string(own) + ":");
  }
  for (const auto& [name, value] : request_.headers) {
    // libcurl takes "Name:" as a request to omit a header.
    add_header(value.empty() ? name + ";" : name + ": " + value);
  }
  set(CURLOPT_HTTPHEADER, lines_.get());
  set(CURLOPT_HEADERFUNCTION, &StreamedCall::on_header);
  set(CURLOPT_HEADERDATA, this);
  set(CURLOPT_WRITEFUNCTION, &StreamedCall::on_body);
  set(CURLOPT_WRITEDATA, this);
}

curl_socket_t StreamedCall::open_socket(void* self, curlsocktype /*purpose*/,
                                        curl_sockaddr* address) {
  auto& call = *static_cast<StreamedCall*>(self);
  if (!call.options_.may_connect(address->addr)) {
    call.is_kept_away_ = true;
    return CURL_SOCKET_BAD;
  }
  return ::socket(address->family, address->socktype | SOCK_CLOEXEC, address->protocol);
}

int StreamedCall::on_ready(void* self, char* address, char* /*own*/, int /*port*/,
                           int /*own_port*/) {
  auto& call = *static_cast<StreamedCall*>(self);
  call.is_abandoned_ = !call.options_.is_wanted();
  if (call.is_abandoned_) return CURL_PREREQFUNC_ABORT;
  call.options_.on_connected(address);
  return CURL_PREREQFUNC_OK;
}

std::size_t StreamedCall::on_header(char* line, std::size_t size, std::size_t count, void* self) {
  auto& call = *static_cast<StreamedCall*>(self);
  const std::size_t length = size * count;
  call.head_bytes_ += length;
  call.head_lines_ += 1;
  call.is_too_large_ =
      call.head_bytes_ > max_streamed_head_bytes || call.head_lines_ > max_streamed_head_lines;
  if (call.is_too_large_) return 0;
  if (call.has_head_) return length;  // a trailer, which nobody is told
  call.head_.feed({line, length});
  if (!call.head_.is_final()) return length;
  call.has_head_ = true;
  call.is_abandoned_ = !call.options_.on_head(call.head_.status(), call.head_.headers());
  return call.is_abandoned_ ? 0 : length;
}

std::size_t StreamedCall::on_body(char* bytes, std::size_t size, std::size_t count, void* self) {
  auto& call = *static_cast<StreamedCall*>(self);
  const std::size_t length = size * count;
  call.is_too_large_ = length > call.options_.max_reply_bytes - call.body_bytes_;
  if (call.is_too_large_ || !call.has_head_) return 0;
  call.body_bytes_ += length;
  call.is_abandoned_ = !call.options_.on_body({bytes, length});
  return call.is_abandoned_ ? 0 : length;
}

StreamedEnd StreamedCall::loop() {
  for (;;) {
    int running = 0;
    curl().multi_perform(multi_.get(), &running);
    int left = 0;
    while (const CURLMsg* const message = curl().multi_info_read(multi_.get(), &left)) {
      if (message->msg == CURLMSG_DONE) return end_of(message->data.result);
    }
    curl_waitfd watched{.fd = options_.watched, .events = CURL_WAIT_POLLIN, .revents = 0};
    const bool failed = curl().multi_poll(multi_.get(), &watched, 1,
                                          longest_streamed_wait_milliseconds, nullptr) != CURLM_OK;
    if (failed || !options_.is_wanted()) return StreamedEnd::abandoned;
  }
}

StreamedEnd StreamedCall::end_of(CURLcode code) const {
  if (code == CURLE_OK) return has_head_ ? StreamedEnd::complete : StreamedEnd::interrupted;
  if (is_too_large_) return StreamedEnd::too_large;
  if (is_abandoned_) return StreamedEnd::abandoned;
  switch (code) {
    case CURLE_COULDNT_CONNECT:
      return is_kept_away_ ? StreamedEnd::forbidden : StreamedEnd::unreachable;
    case CURLE_COULDNT_RESOLVE_HOST:
      return StreamedEnd::unknown_name;
    case CURLE_OPERATION_TIMEDOUT:
      return StreamedEnd::timed_out;
    case CURLE_PEER_FAILED_VERIFICATION:
    case CURLE_SSL_CACERT_BADFILE:
    case CURLE_SSL_CONNECT_ERROR:
      return StreamedEnd::untrusted;
    case CURLE_URL_MALFORMAT:
    case CURLE_UNSUPPORTED_PROTOCOL:
    case CURLE_OUT_OF_MEMORY:
      return StreamedEnd::impossible;
    default:
      return StreamedEnd::interrupted;
  }
}

}  // namespace

StreamedEnd make_streamed_call(const StreamedRequest& request, const StreamedOptions& options) {
  return StreamedCall(request, options).run();
}

}  // namespace runtime::llm
