#include "runtime/llm/curl_loop.h"

#include <signal.h>
#include <sys/epoll.h>
#include <unistd.h>

#include <boost/asio/post.hpp>
#include <cerrno>
#include <chrono>
#include <system_error>
#include <utility>

namespace runtime::llm {
namespace {

namespace asio = boost::asio;
using boost::system::error_code;

// The loop handles this many events, for this long, before it does its other work.
constexpr int events_a_turn = 64;
constexpr std::chrono::milliseconds longest_turn{10};

int new_epoll() {
  const int fd = ::epoll_create1(EPOLL_CLOEXEC);
  if (fd < 0) throw std::system_error(errno, std::generic_category(), "epoll_create1");
  return fd;
}

// Starts a thread that receives no signals: signals are for threads that expect them, and a write
// to a connection that is gone raises SIGPIPE.
template <class Body>
std::thread without_signals(Body body) {
  sigset_t all;
  sigset_t before;
  ::sigfillset(&all);
  ::pthread_sigmask(SIG_SETMASK, &all, &before);
  try {
    std::thread thread(std::move(body));
    ::pthread_sigmask(SIG_SETMASK, &before, nullptr);
    return thread;
  } catch (const std::system_error&) {
    ::pthread_sigmask(SIG_SETMASK, &before, nullptr);
    throw;
  }
}

HttpFault client_goes() {
  HttpFault fault;
  fault.kind = HttpFault::cancelled;
  fault.text = "the client goes";
  return fault;
}

}  // namespace

CurlLoop::Library::Library() { curl().global_init(CURL_GLOBAL_DEFAULT); }
CurlLoop::Library::~Library() { curl().global_cleanup(); }

CurlLoop::CurlLoop(HttpClientOptions options)
    : options_(std::move(options)),
      busy_(io_.get_executor()),
      sockets_(io_, new_epoll()),
      timer_(io_),
      multi_(curl().multi_init()) {
  if (multi_ == nullptr) throw std::system_error(ENOMEM, std::generic_category(), "curl_multi");
  curl().multi_setopt(multi_.get(), CURLMOPT_SOCKETFUNCTION, &CurlLoop::on_watch);
  curl().multi_setopt(multi_.get(), CURLMOPT_SOCKETDATA, this);
  curl().multi_setopt(multi_.get(), CURLMOPT_TIMERFUNCTION, &CurlLoop::on_timer);
  curl().multi_setopt(multi_.get(), CURLMOPT_TIMERDATA, this);
  thread_ = without_signals([this] { run(); });
}

CurlLoop::~CurlLoop() { close(); }

void CurlLoop::run() {
  wait_for_sockets();
  io_.run();
}

void CurlLoop::begin(std::shared_ptr<HttpCall> call, HttpRequest request) {
  const std::lock_guard lock(mutex_);
  if (closed_) {
    call->finish(client_goes());
    return;
  }
  asio::post(io_, [this, call = std::move(call), request = std::move(request)]() mutable {
    add(std::move(call), std::move(request));
  });
}

void CurlLoop::drop(const std::shared_ptr<HttpCall>& call) {
  const std::lock_guard lock(mutex_);
  if (!closed_) asio::post(io_, [this, call] { remove(call.get()); });
}

void CurlLoop::close() {
  {
    const std::lock_guard lock(mutex_);
    if (closed_) return;
    closed_ = true;
    asio::post(io_, [this] { end_all(); });
  }
  thread_.join();
}

void CurlLoop::add(std::shared_ptr<HttpCall> call, HttpRequest request) {
  if (!call->wanted()) return;
  const HttpCall* const key = call.get();
  const CurlTransfer::Sockets sockets{.close = &CurlLoop::close_socket, .context = this};
  auto transfer =
      std::make_unique<CurlTransfer>(options_, sockets, std::move(request), std::move(call));
  const char* obstacle = transfer->obstacle();
  if (obstacle == nullptr) {
    const CURLMcode code = curl().multi_add_handle(multi_.get(), transfer->easy());
    if (code != CURLM_OK) obstacle = curl().multi_strerror(code);
  }
  if (obstacle == nullptr) {
    transfers_.emplace(key, std::move(transfer));
    return;
  }
  HttpFault fault;
  fault.text = std::string("the request cannot be set up: ") + obstacle;
  transfer->call().finish(std::move(fault));
}

// Must never be called from within a callback of libcurl, which then still uses the transfer: all
// callers were posted, or come after curl_multi_socket_action().
void CurlLoop::remove(const HttpCall* call) {
  const auto found = transfers_.find(call);
  if (found == transfers_.end()) return;
  curl().multi_remove_handle(multi_.get(), found->second->easy());
  transfers_.erase(found);
}

// All work that was posted before is done by now, and none is posted after closed_.
void CurlLoop::end_all() {
  for (const auto& [call, transfer] : transfers_) {
    curl().multi_remove_handle(multi_.get(), transfer->easy());
    transfer->call().finish(client_goes());
  }
  transfers_.clear();
  // libcurl's callbacks during its clean-up still find the set and the timer.
  multi_.reset();
  timer_.cancel();
  sockets_.close();
  busy_.reset();
}

void CurlLoop::wait_for_sockets() {
  sockets_.async_wait(asio::posix::stream_descriptor::wait_read, [this](error_code error) {
    if (error) return;
    on_sockets();
    wait_for_sockets();
  });
}

// Handles one event at a time: handling the first may close the socket of the second, whose number
// a new socket may get.
void CurlLoop::on_sockets() {
  epoll_event event{};
  const auto end = std::chrono::steady_clock::now() + longest_turn;
  for (int i = 0; i < events_a_turn && std::chrono::steady_clock::now() < end; ++i) {
    if (::epoll_wait(sockets_.native_handle(), &event, 1, 0) <= 0) return;
    int events = 0;  // in an error case libcurl checks the socket itself
    if ((event.events & (EPOLLERR | EPOLLHUP)) == 0) {
      if ((event.events & EPOLLIN) != 0) events |= CURL_CSELECT_IN;
      if ((event.events & EPOLLOUT) != 0) events |= CURL_CSELECT_OUT;
    }
    act(event.data.fd, events);
  }
}

void CurlLoop::act(curl_socket_t socket, int events) {
  int running = 0;
  curl().multi_socket_action(multi_.get(), socket, events, &running);
  collect_ended();
  end_answered();
}

void CurlLoop::collect_ended() {
  int left = 0;
  while (const CURLMsg* const message = curl().multi_info_read(multi_.get(), &left)) {
    if (message->msg != CURLMSG_DONE) continue;
    const CURLcode code = message->data.result;  // the message is freed with its transfer
    char* self = nullptr;
    curl().easy_getinfo(message->easy_handle, CURLINFO_PRIVATE, &self);
    auto& transfer = *reinterpret_cast<CurlTransfer*>(self);
    transfer.finish(code);
    remove(&transfer.call());
  }
}

// Transfers whose head is complete are not waited for, whatever the receiver sends after it.
void CurlLoop::end_answered() {
  if (!options_.heads_only) return;
  for (auto each = transfers_.begin(); each != transfers_.end();) {
    CurlTransfer& transfer = *(each++)->second;
    if (!transfer.is_answered()) continue;
    transfer.finish(CURLE_OK);
    remove(&transfer.call());
  }
}

// The kernel says whether a socket is already watched, so nothing here can disagree with it: a
// closed socket has left the set, whatever its number means now.
int CurlLoop::on_watch(CURL* /*easy*/, curl_socket_t socket, int what, void* self,
                       void* /*unused*/) {
  const int set = static_cast<CurlLoop*>(self)->sockets_.native_handle();
  epoll_event event{};
  event.data.fd = socket;
  if (what == CURL_POLL_REMOVE) {
    ::epoll_ctl(set, EPOLL_CTL_DEL, socket, &event);
    return 0;
  }
  if ((what & CURL_POLL_IN) != 0) event.events |= EPOLLIN;
  if ((what & CURL_POLL_OUT) != 0) event.events |= EPOLLOUT;
  if (::epoll_ctl(set, EPOLL_CTL_MOD, socket, &event) == 0) return 0;
  return errno == ENOENT ? ::epoll_ctl(set, EPOLL_CTL_ADD, socket, &event) : -1;
}

// libcurl must not be called from here, not even when the time is over.
int CurlLoop::on_timer(CURLM* /*multi*/, long milliseconds, void* self) {
  auto& loop = *static_cast<CurlLoop*>(self);
  if (milliseconds < 0) {
    loop.timer_.cancel();
    return 0;
  }
  loop.timer_.expires_after(std::chrono::milliseconds(milliseconds));
  loop.timer_.async_wait([&loop](error_code error) {
    if (!error && loop.multi_ != nullptr) loop.act(CURL_SOCKET_TIMEOUT, 0);
  });
  return 0;
}

// Removes the socket from the set first: another process may hold it for a moment between its fork
// and its exec, and the kernel would keep it in the set for that long.
int CurlLoop::close_socket(void* self, curl_socket_t socket) {
  epoll_event unused{};
  ::epoll_ctl(static_cast<CurlLoop*>(self)->sockets_.native_handle(), EPOLL_CTL_DEL, socket,
              &unused);
  return ::close(socket);
}

}  // namespace runtime::llm
