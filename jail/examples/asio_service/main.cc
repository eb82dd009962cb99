// asio_service PORT
//
// POST /run with a Python program is answered with what it prints, while it prints it:
//   curl -N --data-binary @program.py http://127.0.0.1:PORT/run
// Each program gets a jail that waited for it. SIGTERM lets those who are in finish.
#include <jail/launcher.h>
#include <jail/policy.h>
#include <jail/pool.h>

#include <boost/asio/io_context.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/signal_set.hpp>
#include <charconv>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <exception>
#include <utility>

#include "service.h"

namespace asio = boost::asio;
using asio::ip::tcp;

namespace {

int fail(const char* what) {
  std::fprintf(stderr, "asio_service: %s\n", what);
  return 1;
}

jail::TemplateSpec python(jail::FilterProgram filter) {
  jail::TemplateSpec python;
  python.name = "python";
  python.jail.argv = {"/usr/bin/python3", "main.py"};
  python.jail.env = {"PATH=/usr/bin", "LANG=C.UTF-8", "HOME=/tmp", "PYTHONUNBUFFERED=1"};
  python.jail.root = jail::host_root();
  python.jail.filter = std::move(filter);
  python.max_cpu = std::chrono::seconds(10);
  python.imports = {"json", "re", "random", "datetime"};
  // Standard output and error become one stream, in the order in which they are written.
  python.after_fork = "import os\nos.dup2(1, 2)\n";
  return python;
}

int serve(unsigned short port) {
  auto filter = jail::compile_policy(jail::default_policy());
  if (!filter) return fail(filter.error().message().c_str());
  const auto launcher = jail::Launcher::start();
  if (!launcher) return fail(launcher.error().message().c_str());
  jail::PoolOptions options;
  options.usual = 4;
  options.most = 16;
  auto pool = jail::Pool::open(*launcher, python(std::move(*filter)), options);
  if (!pool) return fail(pool.error().message().c_str());

  asio::io_context io(1);
  tcp::acceptor acceptor(io, {asio::ip::address_v4::loopback(), port});
  std::printf("listening on %u\n", acceptor.local_endpoint().port());
  std::fflush(stdout);
  Service service(io, std::move(acceptor), std::move(*pool));
  service.start();
  asio::signal_set signals(io, SIGTERM, SIGINT);
  signals.async_wait([&service](const boost::system::error_code& error, int) {
    if (!error) service.drain();
  });
  io.run();
  return 0;
}

}  // namespace

int main(int argc, char** argv) {
  unsigned short port = 0;
  const char* text = argc == 2 ? argv[1] : "";
  const char* end = text + std::strlen(text);
  const auto [rest, wrong] = std::from_chars(text, end, port);
  if (wrong != std::errc() || rest != end) return fail("usage: asio_service PORT");
  try {
    return serve(port);
  } catch (const std::exception& error) {  // thrown by Asio: the port is taken
    return fail(error.what());
  }
}
