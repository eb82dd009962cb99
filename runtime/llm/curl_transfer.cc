#include "runtime/llm/curl_transfer.h"

#include <strings.h>
#include <sys/socket.h>

#include <algorithm>

#include "runtime/llm/curl_trust.h"

namespace runtime::llm {
namespace {

// Providers send at most 40 lines. Each costs some hundred bytes here and in libcurl, however short
// it is.
constexpr std::size_t max_head_lines = 100;

// The buffer size where no body is wanted: libcurl fills its buffer a hundred times before it looks
// at another connection.
constexpr long head_buffer_bytes = 2048;

// CURLE_TOO_LARGE of libcurl 8.6 and later, which may be loaded by a program that was built with an
// older one.
constexpr auto value_too_large = static_cast<CURLcode>(100);

bool has_header(const HttpRequest& request, std::string_view name) {
  return std::any_of(request.headers.begin(), request.headers.end(), [&](const auto& header) {
    return ::strcasecmp(header.first.c_str(), std::string(name).c_str()) == 0;
  });
}

HttpFault::Kind kind_of(CURLcode code, int status) {
  switch (code) {
    case CURLE_FILESIZE_EXCEEDED:
      return HttpFault::too_large;
    case CURLE_PARTIAL_FILE:
    case CURLE_GOT_NOTHING:
    case CURLE_SEND_ERROR:
    case CURLE_RECV_ERROR:
    case CURLE_WRITE_ERROR:
    case CURLE_HTTP2:
    case CURLE_HTTP2_STREAM:
    case CURLE_WEIRD_SERVER_REPLY:
      return HttpFault::interrupted;
    default:
      return status == 0 ? HttpFault::unreachable : HttpFault::interrupted;
  }
}

}  // namespace

CurlTransfer::CurlTransfer(const HttpClientOptions& options, Sockets sockets, HttpRequest request,
                           std::shared_ptr<HttpCall> call)
    : request_(std::move(request)),
      call_(std::move(call)),
      options_(options),
      easy_(curl().easy_init()) {
  if (easy_ == nullptr) {
    set_up_ = CURLE_OUT_OF_MEMORY;
    return;
  }
  set(CURLOPT_PRIVATE, this);
  set(CURLOPT_ERRORBUFFER, reason_.data());
  set(CURLOPT_NOSIGNAL, 1L);
  // A resolver that waits for a silent server is abandoned, not waited for.
  set(CURLOPT_QUICK_EXIT, 1L);
  set(CURLOPT_OPENSOCKETFUNCTION, &CurlTransfer::open_socket);
  set(CURLOPT_OPENSOCKETDATA, this);
  set(CURLOPT_CLOSESOCKETFUNCTION, sockets.close);
  set(CURLOPT_CLOSESOCKETDATA, sockets.context);
  set(CURLOPT_HEADERFUNCTION, &CurlTransfer::on_header);
  set(CURLOPT_HEADERDATA, this);
  set(CURLOPT_WRITEFUNCTION, &CurlTransfer::on_body);
  set(CURLOPT_WRITEDATA, this);
  if (options.heads_only) {
    set(CURLOPT_BUFFERSIZE, head_buffer_bytes);
  } else {
    set(CURLOPT_MAXFILESIZE_LARGE, static_cast<curl_off_t>(options.max_reply_bytes));
  }
  set(CURLOPT_CONNECTTIMEOUT_MS, static_cast<long>(options.connect_timeout.count()));
  set(CURLOPT_USERAGENT, options.user_agent.c_str());
  set_trust(options);
  set_request();
}

CurlTransfer::~CurlTransfer() {
  curl().easy_cleanup(easy_);
  curl().slist_free_all(lines_);
}

// The value goes through C's variable arguments, so it must have exactly the type that the option
// takes.
template <class Value>
void CurlTransfer::set(CURLoption option, Value value) {
  const CURLcode code = curl().easy_setopt(easy_, option, value);
  if (set_up_ == CURLE_OK) set_up_ = code;
}

const char* CurlTransfer::obstacle() const noexcept {
  return set_up_ == CURLE_OK ? nullptr : curl().easy_strerror(set_up_);
}

void CurlTransfer::set_trust(const HttpClientOptions& options) {
  set_curl_trust([this](CURLoption option, auto value) { set(option, value); }, "http,https",
                 options.ca_file, options.proxy.c_str());
  set(CURLOPT_SUPPRESS_CONNECT_HEADERS, 1L);
}

void CurlTransfer::add_header(const std::string& line) {
  curl_slist* const longer = curl().slist_append(lines_, line.c_str());
  if (longer == nullptr) {
    set_up_ = CURLE_OUT_OF_MEMORY;
  } else {
    lines_ = longer;
  }
}

void CurlTransfer::set_request() {
  set(CURLOPT_URL, request_.url.c_str());
  set(CURLOPT_HTTP_VERSION, static_cast<long>(CURL_HTTP_VERSION_2TLS));
  // Concurrent calls share the first connection where TLS negotiates that it takes several. Without
  // TLS that is known only after the first reply, for which a model may need a minute.
  const bool encrypted = ::strncasecmp(request_.url.c_str(), "https:", 6) == 0;
  set(CURLOPT_PIPEWAIT, encrypted ? 1L : 0L);
  if (request_.method == "HEAD") {
    set(CURLOPT_NOBODY, 1L);
  } else if (request_.method == "GET" && request_.body.empty()) {
    set(CURLOPT_HTTPGET, 1L);
  } else {
    if (request_.method == "POST" || !request_.body.empty()) {
      set(CURLOPT_POSTFIELDSIZE_LARGE, static_cast<curl_off_t>(request_.body.size()));
      set(CURLOPT_POSTFIELDS, request_.body.data());
    }
    set(CURLOPT_CUSTOMREQUEST, request_.method.c_str());
  }
  for (const auto& [name, value] : request_.headers) {
    // libcurl takes "Name:" as a request to omit a header.
    add_header(value.empty() ? name + ";" : name + ": " + value);
  }
  add_header("Expect:");
  if (!has_header(request_, "Content-Type")) add_header("Content-Type:");
  set(CURLOPT_HTTPHEADER, lines_);
}

// Called while the transfer connects, for one address after the other.
curl_socket_t CurlTransfer::open_socket(void* self, curlsocktype /*purpose*/,
                                        curl_sockaddr* address) {
  auto& transfer = *static_cast<CurlTransfer*>(self);
  const auto& may_connect = transfer.options_.may_connect;
  if (may_connect && !may_connect(address->addr)) {
    transfer.is_kept_away_ = true;
    return CURL_SOCKET_BAD;
  }
  return ::socket(address->family, address->socktype | SOCK_CLOEXEC, address->protocol);
}

std::size_t CurlTransfer::on_header(char* line, std::size_t size, std::size_t count, void* self) {
  auto& transfer = *static_cast<CurlTransfer*>(self);
  const std::size_t length = size * count;
  transfer.head_bytes_ += length;
  ++transfer.head_lines_;
  transfer.too_large_ = transfer.has_large_head();
  if (transfer.too_large_ || !transfer.call_->wanted()) return 0;
  transfer.head_.feed({line, length});
  return length;
}

// Accepting fewer bytes than given ends the transfer.
std::size_t CurlTransfer::on_body(char* bytes, std::size_t size, std::size_t count, void* self) {
  auto& transfer = *static_cast<CurlTransfer*>(self);
  const std::size_t length = size * count;
  transfer.too_large_ = length > transfer.options_.max_reply_bytes - transfer.body_bytes_;
  if (transfer.too_large_ || !transfer.call_->wanted()) return 0;
  transfer.body_bytes_ += length;
  if (!transfer.options_.heads_only) {
    transfer.call_->add(transfer.head_.status(), {bytes, length});
  }
  return length;
}

bool CurlTransfer::has_large_head() const noexcept {
  return head_bytes_ > options_.max_head_bytes || head_lines_ > max_head_lines;
}

HttpFault CurlTransfer::fault_of(CURLcode code) const {
  HttpFault fault;
  fault.status = head_.status();
  fault.kind = too_large_ ? HttpFault::too_large : kind_of(code, fault.status);
  const std::string reason = reason_[0] != '\0' ? reason_.data() : curl().easy_strerror(code);
  if (has_large_head()) {
    fault.text = "the head of the reply is larger than " + std::to_string(options_.max_head_bytes) +
                 " bytes or has more than " + std::to_string(max_head_lines) + " lines";
  } else if ((code == CURLE_OUT_OF_MEMORY || code == value_too_large) && fault.status != 0 &&
             !head_.is_final()) {
    // libcurl has its own bound for one line, and these are its errors for it.
    fault.kind = HttpFault::too_large;
    fault.text = "a line of the reply's head is too long";
  } else if (code == CURLE_OK) {
    fault.kind = HttpFault::interrupted;
    fault.text = "the connection ended before the head of the reply did";
  } else if (fault.kind == HttpFault::too_large) {
    fault.text = "the reply is larger than " + std::to_string(options_.max_reply_bytes) + " bytes";
  } else if (is_kept_away_ && code == CURLE_COULDNT_CONNECT) {
    fault.kind = HttpFault::forbidden;
    fault.text = "it is at an address that may not be connected to";
  } else if (code == CURLE_PEER_FAILED_VERIFICATION) {
    fault.text = "the server's certificate is not trusted: " + reason;
  } else if (code == CURLE_SSL_CACERT_BADFILE) {
    fault.text = "the file of trusted certificates cannot be used: " + reason;
  } else {
    fault.text = reason;
  }
  return fault;
}

void CurlTransfer::finish(CURLcode code) {
  // libcurl reports success where a connection ends within a head.
  if (!is_answered() && (code != CURLE_OK || !head_.is_final())) {
    call_->finish(fault_of(code));
    return;
  }
  HttpReply reply;
  reply.status = head_.status();
  reply.headers = std::move(head_.headers());
  call_->finish(std::move(reply));
}

}  // namespace runtime::llm
