#include "runtime/llm/polled_http.h"

#include <strings.h>

#include <array>
#include <cerrno>
#include <system_error>
#include <utility>
#include <vector>

#include "runtime/llm/curl_library.h"
#include "runtime/llm/http_text.h"

namespace runtime::llm {
namespace {

constexpr long connect_milliseconds = 10'000;
// libcurl knows its own timeouts; this only bounds a wait without one.
constexpr int longest_wait_milliseconds = 60'000;
constexpr std::size_t max_head_bytes = 256u << 10;

struct EasyEnd {
  void operator()(CURL* easy) const { curl().easy_cleanup(easy); }
};

struct LinesEnd {
  void operator()(curl_slist* lines) const { curl().slist_free_all(lines); }
};

HttpFault cannot_be_set_up(const std::string& why) {
  HttpFault fault;
  fault.text = "the request cannot be set up: " + why;
  return fault;
}

}  // namespace

struct PolledHttp::Multi {
  Multi() {
    curl().global_init(CURL_GLOBAL_DEFAULT);  // it counts its calls
    multi = curl().multi_init();
    if (multi != nullptr) return;
    curl().global_cleanup();
    throw std::system_error(ENOMEM, std::generic_category(), "curl_multi");
  }
  ~Multi() {
    curl().multi_cleanup(multi);
    curl().global_cleanup();
  }
  Multi(const Multi&) = delete;
  Multi& operator=(const Multi&) = delete;

  // Returns whether anything came or ended.
  bool perform();

  CURLM* multi = nullptr;
  bool progressed = false;
};

// One of libcurl's handles.
struct PolledHttp::Handle {
  explicit Handle(Multi& multi) : multi(multi), easy(curl().easy_init()) {}
  virtual ~Handle() {
    if (added) curl().multi_remove_handle(multi.multi, easy.get());
  }
  Handle(const Handle&) = delete;
  Handle& operator=(const Handle&) = delete;

  // Called when libcurl has done what it was asked for.
  virtual void on_done(CURLcode code) = 0;

  template <class Value>
  void set(CURLoption option, Value value) {
    const CURLcode code = curl().easy_setopt(easy.get(), option, value);
    if (set_up == CURLE_OK) set_up = code;
  }
  void set_connection(const PolledHttpOptions& client);
  // Returns why it cannot begin, if so.
  std::optional<HttpFault> begin();
  HttpFault fault_of(CURLcode code) const;

  Multi& multi;
  const std::unique_ptr<CURL, EasyEnd> easy;
  CURLcode set_up = CURLE_OK;
  std::array<char, CURL_ERROR_SIZE> reason{};
  bool added = false;
};

struct PolledCall::Transfer final : PolledHttp::Handle {
  Transfer(PolledHttp::Multi& multi, HttpRequest request, PolledOptions options,
           std::size_t max_reply_bytes)
      : Handle(multi),
        request(std::move(request)),
        options(std::move(options)),
        max_bytes(max_reply_bytes) {}

  void on_done(CURLcode code) override;
  void set_request();
  void add_header(const std::string& line);
  HttpOutcome ended(CURLcode code);

  static std::size_t on_header(char* line, std::size_t size, std::size_t count, void* self);
  static std::size_t on_body(char* bytes, std::size_t size, std::size_t count, void* self);
  static std::size_t on_room(char* room, std::size_t size, std::size_t count, void* self);

  PolledCall* call = nullptr;
  const HttpRequest request;  // libcurl reads the body from here
  const PolledOptions options;
  const std::size_t max_bytes;
  std::unique_ptr<curl_slist, LinesEnd> lines;
  HeadReader head;
  std::size_t head_bytes = 0;
  bool too_large = false;
  HttpReply reply;
};

struct PolledStream::Link final : PolledHttp::Handle {
  explicit Link(PolledHttp::Multi& multi) : Handle(multi) {}

  void on_done(CURLcode code) override;

  PolledStream* stream = nullptr;
};

void PolledHttp::Handle::set_connection(const PolledHttpOptions& client) {
  set(CURLOPT_ERRORBUFFER, reason.data());
  set(CURLOPT_NOSIGNAL, 1L);
  set(CURLOPT_QUICK_EXIT, 1L);
  set(CURLOPT_TCP_KEEPALIVE, 1L);
  set(CURLOPT_CONNECTTIMEOUT_MS, connect_milliseconds);
  set(CURLOPT_USERAGENT, client.user_agent.c_str());
  set(CURLOPT_PROTOCOLS_STR, "http,https");
  set(CURLOPT_FOLLOWLOCATION, 0L);
  set(CURLOPT_SSLVERSION, static_cast<long>(CURL_SSLVERSION_TLSv1_2));
  set(CURLOPT_PROXY, "");  // the environment is ignored
  set(CURLOPT_NOPROXY, "");
  // A path of a file may contain dots.
  set(CURLOPT_PATH_AS_IS, 1L);
  if (!client.socket_path.empty()) set(CURLOPT_UNIX_SOCKET_PATH, client.socket_path.c_str());
}

std::optional<HttpFault> PolledHttp::Handle::begin() {
  if (easy == nullptr) return cannot_be_set_up("no memory");
  set(CURLOPT_PRIVATE, static_cast<void*>(this));
  if (set_up != CURLE_OK) return cannot_be_set_up(curl().easy_strerror(set_up));
  const CURLMcode code = curl().multi_add_handle(multi.multi, easy.get());
  added = code == CURLM_OK;
  if (!added) return cannot_be_set_up(curl().multi_strerror(code));
  return std::nullopt;
}

HttpFault PolledHttp::Handle::fault_of(CURLcode code) const {
  HttpFault fault;
  long error = 0;
  curl().easy_getinfo(easy.get(), CURLINFO_OS_ERRNO, &error);
  const bool connected = code != CURLE_COULDNT_CONNECT && code != CURLE_COULDNT_RESOLVE_HOST &&
                         code != CURLE_OPERATION_TIMEDOUT && code != CURLE_SSL_CONNECT_ERROR &&
                         code != CURLE_PEER_FAILED_VERIFICATION;
  fault.kind = connected ? HttpFault::interrupted : HttpFault::unreachable;
  fault.text = reason[0] != '\0' ? reason.data() : curl().easy_strerror(code);
  if (code == CURLE_COULDNT_CONNECT && error != 0) {
    fault.text = std::generic_category().message(static_cast<int>(error));
  }
  return fault;
}

void PolledCall::Transfer::add_header(const std::string& line) {
  curl_slist* const longer = curl().slist_append(lines.get(), line.c_str());
  if (longer == nullptr) {
    set_up = CURLE_OUT_OF_MEMORY;
    return;
  }
  static_cast<void>(lines.release());  // now a part of `longer`
  lines.reset(longer);
}

void PolledCall::Transfer::set_request() {
  set(CURLOPT_URL, request.url.c_str());
  set(CURLOPT_HTTP_VERSION, static_cast<long>(CURL_HTTP_VERSION_1_1));
  set(CURLOPT_HEADERFUNCTION, &Transfer::on_header);
  set(CURLOPT_HEADERDATA, this);
  set(CURLOPT_WRITEFUNCTION, &Transfer::on_body);
  set(CURLOPT_WRITEDATA, this);
  if (options.next_piece) {
    set(CURLOPT_UPLOAD, 1L);
    set(CURLOPT_READFUNCTION, &Transfer::on_room);
    set(CURLOPT_READDATA, this);
    const auto bytes = options.body_bytes;
    set(CURLOPT_INFILESIZE_LARGE, bytes ? static_cast<curl_off_t>(*bytes) : curl_off_t{-1});
  } else {
    if (request.method != "GET" || !request.body.empty()) {
      set(CURLOPT_POSTFIELDSIZE_LARGE, static_cast<curl_off_t>(request.body.size()));
      set(CURLOPT_POSTFIELDS, request.body.data());
    }
    // Without this libcurl would ask before it sends a large body.
    add_header("Expect:");
  }
  set(CURLOPT_CUSTOMREQUEST, request.method.c_str());
  bool has_type = false;
  for (const auto& [name, value] : request.headers) {
    has_type = has_type || ::strcasecmp(name.c_str(), "Content-Type") == 0;
    add_header(value.empty() ? name + ";" : name + ": " + value);
  }
  if (!has_type) add_header("Content-Type:");
  set(CURLOPT_HTTPHEADER, lines.get());
}

std::size_t PolledCall::Transfer::on_header(char* line, std::size_t size, std::size_t count,
                                            void* self) {
  auto& transfer = *static_cast<Transfer*>(self);
  const std::size_t length = size * count;
  transfer.head_bytes += length;
  transfer.too_large = transfer.head_bytes > max_head_bytes;
  if (transfer.too_large) return 0;
  transfer.head.feed({line, length});
  transfer.multi.progressed = true;
  return length;
}

// Accepting fewer bytes than given ends the transfer.
std::size_t PolledCall::Transfer::on_body(char* bytes, std::size_t size, std::size_t count,
                                          void* self) {
  auto& transfer = *static_cast<Transfer*>(self);
  const std::size_t length = size * count;
  transfer.multi.progressed = true;
  const bool is_good = transfer.head.status() / 100 == 2;
  if (is_good && transfer.options.on_body) {
    return transfer.options.on_body({bytes, length}) ? length : 0;
  }
  transfer.too_large = length > transfer.max_bytes - transfer.reply.body.size();
  if (transfer.too_large) return 0;
  transfer.reply.body.append(bytes, length);
  return length;
}

std::size_t PolledCall::Transfer::on_room(char* room, std::size_t size, std::size_t count,
                                          void* self) {
  const auto& next_piece = static_cast<Transfer*>(self)->options.next_piece;
  return next_piece({room, size * count}).value_or(CURL_READFUNC_ABORT);
}

HttpOutcome PolledCall::Transfer::ended(CURLcode code) {
  if (code == CURLE_OK) {
    reply.status = head.status();
    reply.headers = std::move(head.headers());
    return std::move(reply);
  }
  HttpFault fault = fault_of(code);
  fault.status = head.status();
  if (too_large) {
    fault.kind = HttpFault::too_large;
    fault.text = "the reply is larger than " + std::to_string(max_bytes) + " bytes";
  }
  return fault;
}

void PolledCall::Transfer::on_done(CURLcode code) {
  curl().multi_remove_handle(multi.multi, easy.get());
  added = false;
  call->outcome_ = ended(code);
}

// libcurl closes the connection of a handle that leaves the others.
void PolledStream::Link::on_done(CURLcode code) {
  stream->state_ = code == CURLE_OK ? State::connected : State::failed;
  if (code != CURLE_OK) stream->fault_ = fault_of(code);
}

bool PolledHttp::Multi::perform() {
  progressed = false;
  int running = 0;
  curl().multi_perform(multi, &running);
  int left = 0;
  while (const CURLMsg* const message = curl().multi_info_read(multi, &left)) {
    if (message->msg != CURLMSG_DONE) continue;
    const CURLcode code = message->data.result;
    char* owner = nullptr;
    curl().easy_getinfo(message->easy_handle, CURLINFO_PRIVATE, &owner);
    reinterpret_cast<Handle*>(owner)->on_done(code);
    progressed = true;
  }
  return progressed;
}

PolledCall::PolledCall(std::unique_ptr<Transfer> transfer) : transfer_(std::move(transfer)) {}
PolledCall::~PolledCall() = default;

PolledHttp::PolledHttp(PolledHttpOptions options)
    : options_(std::move(options)), multi_(std::make_unique<Multi>()) {}
PolledHttp::~PolledHttp() = default;

std::unique_ptr<PolledCall> PolledHttp::begin(HttpRequest request, PolledOptions options) {
  const auto obstacle = obstacle_in(request);
  std::unique_ptr<PolledCall> call(new PolledCall(std::make_unique<PolledCall::Transfer>(
      *multi_, std::move(request), std::move(options), options_.max_reply_bytes)));
  PolledCall::Transfer& transfer = *call->transfer_;
  if (obstacle) {
    call->outcome_ = cannot_be_set_up(*obstacle);
    return call;
  }
  transfer.call = call.get();
  if (transfer.easy != nullptr) {
    transfer.set_connection(options_);
    transfer.set_request();
  }
  if (auto fault = transfer.begin()) call->outcome_ = std::move(*fault);
  return call;
}

PolledStream::PolledStream(std::unique_ptr<Link> link) : link_(std::move(link)) {}
PolledStream::~PolledStream() = default;

std::unique_ptr<PolledStream> PolledHttp::connect(const std::string& url) {
  std::unique_ptr<PolledStream> stream(
      new PolledStream(std::make_unique<PolledStream::Link>(*multi_)));
  PolledStream::Link& link = *stream->link_;
  link.stream = stream.get();
  if (link.easy != nullptr) {
    link.set_connection(options_);
    link.set(CURLOPT_URL, url.c_str());
    link.set(CURLOPT_HTTP_VERSION, static_cast<long>(CURL_HTTP_VERSION_1_1));
    link.set(CURLOPT_CONNECT_ONLY, 1L);
  }
  if (auto fault = link.begin()) {
    stream->state_ = PolledStream::State::failed;
    stream->fault_ = std::move(*fault);
  }
  return stream;
}

int PolledStream::fd() const {
  curl_socket_t socket = CURL_SOCKET_BAD;
  curl().easy_getinfo(link_->easy.get(), CURLINFO_ACTIVESOCKET, &socket);
  return socket;
}

namespace {

PolledStream::Progress progress_of(CURLcode code, std::size_t bytes) {
  using Outcome = PolledStream::Outcome;
  if (code == CURLE_AGAIN) return {.outcome = Outcome::nothing_yet, .bytes = 0};
  if (code != CURLE_OK || bytes == 0) return {.outcome = Outcome::ended, .bytes = 0};
  return {.outcome = Outcome::done, .bytes = bytes};
}

}  // namespace

PolledStream::Progress PolledStream::read(std::span<char> room) {
  std::size_t bytes = 0;
  const CURLcode code = curl().easy_recv(link_->easy.get(), room.data(), room.size(), &bytes);
  return progress_of(code, bytes);
}

PolledStream::Progress PolledStream::write(std::string_view bytes) {
  std::size_t sent = 0;
  const CURLcode code = curl().easy_send(link_->easy.get(), bytes.data(), bytes.size(), &sent);
  return progress_of(code, sent);
}

void PolledHttp::wait(std::span<pollfd> others) {
  for (pollfd& other : others) other.revents = 0;
  // What has come already may change what the caller waits for.
  if (multi_->perform()) return;
  std::vector<curl_waitfd> watched;
  for (const pollfd& other : others) {
    // Both are sets of bits with the same meanings, but with different values.
    const int input = (other.events & POLLIN) != 0 ? CURL_WAIT_POLLIN : 0;
    const int room = (other.events & POLLOUT) != 0 ? CURL_WAIT_POLLOUT : 0;
    watched.push_back({.fd = other.fd, .events = static_cast<short>(input | room), .revents = 0});
  }
  curl().multi_poll(multi_->multi, watched.data(), static_cast<unsigned>(watched.size()),
                    longest_wait_milliseconds, nullptr);
  // libcurl does not report the end of a pipe.
  ::poll(others.data(), others.size(), 0);
  multi_->perform();
}

}  // namespace runtime::llm
