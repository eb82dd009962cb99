// An HTTP client that costs little: raw sockets, one thread, answers looked at with a few searches.
//
//   bench_http_load SERVER PATH BODY_FILE EXPECTED
//
// Sends the file's content as JSON to PATH of SERVER, a port of 127.0.0.1 or the path of a Unix
// socket, over kept connections. An answer is good when it is a 200 and has EXPECTED somewhere; 503
// is counted as refused; everything else ends the command. Commands on stdin, each answered by a
// line of JSON with times in microseconds:
//   closed CLIENTS COUNT [PAUSE_MS]   each client sends its next request when it has its answer;
//                                     one client alone may wait before that, so that a pool is full
//   open RATE SECONDS CONNECTIONS     requests come when they come, on the average RATE a second,
//                                     and a time counts from the moment that a request was due,
//                                     also while all connections are busy
#include <arpa/inet.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <strings.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <deque>
#include <fstream>
#include <iostream>
#include <memory>
#include <random>
#include <sstream>
#include <stdexcept>
#include <string>
#include <vector>

#include "bench/numbers.h"

namespace {

using bench::Clock;
using bench::Line;
using bench::microseconds;
using bench::Times;

struct Target {
  std::string server;
  std::string request;
  std::string expected;
};

struct Answer {
  int status = 0;
  std::string_view body;
  std::size_t size = 0;  // head and body together
};

// Returns size 0 where no answer is complete yet.
Answer parse(std::string_view received) {
  const std::size_t head_end = received.find("\r\n\r\n");
  if (head_end == std::string_view::npos) return {};
  constexpr std::string_view length_name = "\r\ncontent-length:";
  std::size_t length = std::string::npos;
  for (std::size_t i = received.find("\r\n"); i < head_end; i = received.find("\r\n", i + 2)) {
    if (::strncasecmp(received.data() + i, length_name.data(), length_name.size()) == 0) {
      length = std::strtoul(received.data() + i + length_name.size(), nullptr, 10);
    }
  }
  if (length == std::string::npos) throw std::runtime_error("an answer without Content-Length");
  if (received.size() < head_end + 4 + length) return {};
  return {.status = std::atoi(received.data() + std::min(received.find(' '), head_end)),
          .body = received.substr(head_end + 4, length),
          .size = head_end + 4 + length};
}

class Connection {
 public:
  explicit Connection(const std::string& server)
      : socket_(
            ::socket(server.starts_with('/') ? AF_UNIX : AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0)) {
    if (!(server.starts_with('/') ? connect_unix(server)
                                  : connect_tcp(std::atoi(server.c_str())))) {
      throw std::runtime_error(std::string("connecting failed: ") + std::strerror(errno));
    }
  }
  Connection(const Connection&) = delete;
  Connection& operator=(const Connection&) = delete;
  ~Connection() { ::close(socket_); }

  int socket() const { return socket_; }
  bool busy() const { return busy_; }
  Clock::time_point due() const { return due_; }

  void send(const std::string& request, Clock::time_point due) {
    due_ = due;
    busy_ = true;
    received_.clear();
    for (std::size_t sent = 0; sent < request.size();) {
      const ssize_t done =
          ::send(socket_, request.data() + sent, request.size() - sent, MSG_NOSIGNAL);
      if (done < 0)
        throw std::runtime_error(std::string("sending failed: ") + std::strerror(errno));
      sent += static_cast<std::size_t>(done);
    }
  }

  // Makes one read; returns the answer when it is complete. It is valid until the next send().
  Answer receive() {
    std::array<char, 16384> block;
    const ssize_t got = ::recv(socket_, block.data(), block.size(), 0);
    if (got <= 0) throw std::runtime_error("the server closed a connection");
    received_.append(block.data(), static_cast<std::size_t>(got));
    const Answer answer = parse(received_);
    if (answer.size != 0) busy_ = false;
    return answer;
  }

 private:
  bool connect_unix(const std::string& path) const {
    sockaddr_un address{};
    address.sun_family = AF_UNIX;
    path.copy(address.sun_path, sizeof address.sun_path - 1);
    return ::connect(socket_, reinterpret_cast<sockaddr*>(&address), sizeof address) == 0;
  }

  bool connect_tcp(int port) const {
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_port = htons(static_cast<std::uint16_t>(port));
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    const int on = 1;
    return ::connect(socket_, reinterpret_cast<sockaddr*>(&address), sizeof address) == 0 &&
           ::setsockopt(socket_, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on) == 0;
  }

  int socket_;
  bool busy_ = false;
  Clock::time_point due_;
  std::string received_;
};

// The content of one command's answers.
struct Tally {
  Times total;
  std::array<Times, 3> phases;  // timings_us in the answers
  std::uint64_t warm = 0;
  std::uint64_t refused = 0;

  void take(const Target& target, const Answer& answer, double taken) {
    if (answer.status == 503) {
      ++refused;
      return;
    }
    if (answer.status != 200 || answer.body.find(target.expected) == std::string_view::npos) {
      throw std::runtime_error("answer " + std::to_string(answer.status) + ": " +
                               std::string(answer.body.substr(0, 400)));
    }
    total.push_back(taken);
    if (answer.body.find("\"warm\":true") != std::string_view::npos) ++warm;
    static constexpr std::array<std::string_view, 3> names = {
        "\"queued\":", "\"started\":", "\"ran\":"};
    for (std::size_t i = 0; i < names.size(); ++i) {
      const std::size_t place = answer.body.find(names[i]);
      if (place == std::string_view::npos) continue;
      phases[i].push_back(std::strtod(answer.body.data() + place + names[i].size(), nullptr));
    }
  }

  Line line(double seconds) const {
    return Line()
        .times("total", total)
        .times("queued", phases[0])
        .times("started", phases[1])
        .times("ran", phases[2])
        .number("warm", static_cast<double>(warm))
        .number("refused", static_cast<double>(refused))
        .number("per_second", static_cast<double>(total.size()) / seconds);
  }
};

class Loop {
 public:
  Loop(const Target& target, std::size_t connections)
      : target_(target), epoll_(::epoll_create1(EPOLL_CLOEXEC)) {
    for (std::size_t i = 0; i < connections; ++i) {
      connections_.push_back(std::make_unique<Connection>(target.server));
      epoll_event event{};
      event.events = EPOLLIN;
      event.data.ptr = connections_.back().get();
      if (::epoll_ctl(epoll_, EPOLL_CTL_ADD, connections_.back()->socket(), &event) != 0) {
        throw std::runtime_error("epoll_ctl failed");
      }
    }
  }
  Loop(const Loop&) = delete;
  Loop& operator=(const Loop&) = delete;
  ~Loop() { ::close(epoll_); }

  Line closed(std::uint64_t count, double pause_ms) {
    const auto begun = Clock::now();
    std::uint64_t sent = 0;
    std::uint64_t answered = 0;
    for (const auto& connection : connections_) {
      if (sent++ < count) connection->send(target_.request, Clock::now());
    }
    while (answered < count) {
      wait(nullptr, [&](Connection& connection, const Answer& answer) {
        take(connection, answer);
        ++answered;
        if (pause_ms > 0) ::usleep(static_cast<useconds_t>(pause_ms * 1e3));
        if (sent++ < count) connection.send(target_.request, Clock::now());
      });
    }
    return tally_.line(microseconds(Clock::now() - begun) / 1e6);
  }

  Line open(double rate, double seconds) {
    std::mt19937 source(1);  // the same seed, for the same arrivals each time
    std::exponential_distribution<double> gap(rate);
    const auto begun = Clock::now();
    double next = gap(source);
    std::deque<Clock::time_point> waiting;
    std::size_t running = 0;
    std::size_t max_waiting = 0;
    const auto moment = [&](double at) {
      return begun + std::chrono::duration_cast<Clock::duration>(std::chrono::duration<double>(at));
    };
    while (next < seconds || running > 0 || !waiting.empty()) {
      for (; next < seconds && moment(next) <= Clock::now(); next += gap(source)) {
        waiting.push_back(moment(next));
      }
      for (const auto& connection : connections_) {
        if (waiting.empty()) break;
        if (connection->busy()) continue;
        connection->send(target_.request, waiting.front());
        waiting.pop_front();
        ++running;
      }
      max_waiting = std::max(max_waiting, waiting.size());
      timespec pause{};
      if (next < seconds) {
        const auto left = std::max(moment(next) - Clock::now(), Clock::duration::zero());
        pause.tv_sec = std::chrono::duration_cast<std::chrono::seconds>(left).count();
        pause.tv_nsec = std::chrono::nanoseconds(left).count() % 1'000'000'000;
      }
      wait(next < seconds ? &pause : nullptr, [&](Connection& connection, const Answer& answer) {
        take(connection, answer);
        --running;
      });
    }
    return tally_.line(microseconds(Clock::now() - begun) / 1e6)
        .number("max_waiting", static_cast<double>(max_waiting));
  }

 private:
  template <class Take>
  void wait(const timespec* at_most, const Take& take) {
    std::array<epoll_event, 64> events;
    const int count =
        ::epoll_pwait2(epoll_, events.data(), static_cast<int>(events.size()), at_most, nullptr);
    if (count < 0 && errno != EINTR) throw std::runtime_error("epoll_pwait2 failed");
    for (int i = 0; i < count; ++i) {
      auto& connection = *static_cast<Connection*>(events[static_cast<std::size_t>(i)].data.ptr);
      const Answer answer = connection.receive();
      if (answer.size != 0) take(connection, answer);
    }
  }

  void take(const Connection& connection, const Answer& answer) {
    tally_.take(target_, answer, microseconds(Clock::now() - connection.due()));
  }

  const Target& target_;
  const int epoll_;
  std::vector<std::unique_ptr<Connection>> connections_;
  Tally tally_;
};

Line answer(const Target& target, const std::string& command) {
  std::istringstream words(command);
  std::string verb;
  double first = 0;
  double second = 0;
  double third = 0;
  words >> verb >> first >> second >> third;
  if (verb == "closed" && first >= 1 && second >= 1) {
    return Loop(target, static_cast<std::size_t>(first))
        .closed(static_cast<std::uint64_t>(second), third);
  }
  if (verb == "open" && first > 0 && second > 0 && third >= 1) {
    return Loop(target, static_cast<std::size_t>(third)).open(first, second);
  }
  throw std::runtime_error("not a command: " + command);
}

}  // namespace

int main(int count, char** arguments) {
  if (count != 5) {
    std::fprintf(stderr, "usage: bench_http_load SERVER PATH BODY_FILE EXPECTED\n");
    return 2;
  }
  std::ifstream file(arguments[3]);
  std::ostringstream body;
  body << file.rdbuf();
  std::ostringstream request;
  request << "POST " << arguments[2] << " HTTP/1.1\r\nHost: 127.0.0.1\r\n"
          << "Content-Type: application/json\r\nContent-Length: " << body.str().size() << "\r\n\r\n"
          << body.str();
  const Target target{.server = arguments[1], .request = request.str(), .expected = arguments[4]};
  for (std::string command; std::getline(std::cin, command);) {
    try {
      answer(target, command).print();
    } catch (const std::runtime_error& error) {
      Line().word("error", error.what()).print();
    }
  }
  return 0;
}
