#include "runtime/sandbox/systemd_scope.h"

#include <systemd/sd-bus.h>
#include <unistd.h>

#include <cerrno>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <stdexcept>

#include "runtime/loader/late_library.h"

namespace runtime {
namespace {

using jail::Error;
using jail::ErrorKind;
using jail::Result;
using Clock = std::chrono::steady_clock;

constexpr const char* service = "org.freedesktop.systemd1";
constexpr const char* object = "/org/freedesktop/systemd1";
constexpr const char* interface = "org.freedesktop.systemd1.Manager";

// libsystemd's functions, by their names without `sd_bus_`; sd_bus_new() is `create`.
struct Systemd {
  LateLibrary library{"libsystemd.so.0", "install libsystemd (Debian: libsystemd0)"};
  decltype(&::sd_bus_call_async) call_async = library.function("sd_bus_call_async");
  decltype(&::sd_bus_close_unref) close_unref = library.function("sd_bus_close_unref");
  decltype(&::sd_bus_match_signal) match_signal = library.function("sd_bus_match_signal");
  decltype(&::sd_bus_message_append) message_append = library.function("sd_bus_message_append");
  decltype(&::sd_bus_message_close_container) message_close_container =
      library.function("sd_bus_message_close_container");
  decltype(&::sd_bus_message_get_error) message_get_error =
      library.function("sd_bus_message_get_error");
  decltype(&::sd_bus_message_new_method_call) message_new_method_call =
      library.function("sd_bus_message_new_method_call");
  decltype(&::sd_bus_message_open_container) message_open_container =
      library.function("sd_bus_message_open_container");
  decltype(&::sd_bus_message_read) message_read = library.function("sd_bus_message_read");
  decltype(&::sd_bus_message_unref) message_unref = library.function("sd_bus_message_unref");
  decltype(&::sd_bus_new) create = library.function("sd_bus_new");
  decltype(&::sd_bus_process) process = library.function("sd_bus_process");
  decltype(&::sd_bus_set_address) set_address = library.function("sd_bus_set_address");
  decltype(&::sd_bus_start) start = library.function("sd_bus_start");
  decltype(&::sd_bus_wait) wait = library.function("sd_bus_wait");
};

// Throws std::runtime_error where libsystemd cannot be loaded.
const Systemd& systemd() {
  static const Systemd loaded;
  return loaded;
}

struct CloseBus {
  void operator()(sd_bus* bus) const { systemd().close_unref(bus); }
};
struct UnrefMessage {
  void operator()(sd_bus_message* message) const { systemd().message_unref(message); }
};
using Bus = std::unique_ptr<sd_bus, CloseBus>;
using Message = std::unique_ptr<sd_bus_message, UnrefMessage>;

// The messages from systemd so far. The signal that a job is over may come before the answer that
// names the job.
struct Conversation {
  std::optional<std::string> job;
  std::map<std::string, std::string> ended;  // by job
  std::string refusal;

  bool over() const { return !refusal.empty() || (job && ended.count(*job) > 0); }
};

int on_answer(sd_bus_message* message, void* conversation, sd_bus_error*) {
  auto& said = *static_cast<Conversation*>(conversation);
  const char* job = nullptr;
  if (const sd_bus_error* error = systemd().message_get_error(message)) {
    said.refusal = error->message != nullptr ? error->message : error->name;
  } else if (systemd().message_read(message, "o", &job) >= 0) {
    said.job = job;
  } else {
    said.refusal = "an answer that names no job";
  }
  return 1;
}

int on_job_removed(sd_bus_message* message, void* conversation, sd_bus_error*) {
  std::uint32_t number = 0;
  const char* job = nullptr;
  const char* unit = nullptr;
  const char* result = nullptr;
  if (systemd().message_read(message, "uoss", &number, &job, &unit, &result) >= 0) {
    static_cast<Conversation*>(conversation)->ended[job] = result;
  }
  return 0;
}

// All characters except these are escaped in an address (D-Bus specification, server addresses).
std::string escaped(const std::string& path) {
  constexpr const char* digits = "0123456789abcdef";
  std::string text;
  for (const char c : path) {
    const bool plain = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
                       c == '-' || c == '_' || c == '/' || c == '.';
    const auto byte = static_cast<unsigned char>(c);
    if (plain) {
      text += c;
    } else {
      text += {'%', digits[byte >> 4], digits[byte & 15]};
    }
  }
  return text;
}

// PIDs=0 means the sender: systemd reads its pid from the socket, which also works where this
// process is in another pid namespace. Without TasksMax, the host's DefaultTasksMax would bound the
// tasks of all jails together. "fail" refuses a unit of that name that has a job already.
int append_unit(sd_bus_message* message, const std::string& name) {
  int r = systemd().message_append(message, "ss", name.c_str(), "fail");
  if (r >= 0) r = systemd().message_open_container(message, 'a', "(sv)");
  if (r >= 0) {
    r = systemd().message_append(message, "(sv)(sv)(sv)(sv)(sv)", "Description", "s",
                                 "agent-sandbox: jails", "PIDs", "au", 1, 0, "Delegate", "b", 1,
                                 "CollectMode", "s", "inactive-or-failed", "TasksMax", "t",
                                 UINT64_MAX);
  }
  if (r >= 0) r = systemd().message_close_container(message);
  if (r >= 0) r = systemd().message_append(message, "a(sa(sv))", 0);
  return r;
}

int ask(sd_bus* bus, const std::string& name, Conversation& conversation) {
  int r = systemd().match_signal(bus, nullptr, nullptr, object, interface, "JobRemoved",
                                 on_job_removed, &conversation);
  if (r < 0) return r;
  sd_bus_message* raw = nullptr;
  r = systemd().message_new_method_call(bus, &raw, service, object, interface,
                                        "StartTransientUnit");
  const Message message(raw);
  if (r >= 0) r = append_unit(message.get(), name);
  // The whole conversation has one deadline; the call needs none of its own.
  if (r >= 0) {
    r = systemd().call_async(bus, nullptr, message.get(), on_answer, &conversation, UINT64_MAX);
  }
  return r;
}

// Returns 0, or a negative errno; -ETIMEDOUT when it takes too long.
int listen(sd_bus* bus, const Conversation& conversation, std::chrono::milliseconds patience) {
  const auto deadline = Clock::now() + patience;
  while (!conversation.over()) {
    int r = systemd().process(bus, nullptr);
    if (r < 0) return r;
    if (r > 0) continue;
    const auto left =
        std::chrono::duration_cast<std::chrono::microseconds>(deadline - Clock::now());
    if (left.count() <= 0) return -ETIMEDOUT;
    r = systemd().wait(bus, static_cast<std::uint64_t>(left.count()));
    if (r < 0 && r != -EINTR) return r;
  }
  return 0;
}

}  // namespace

Result<void> enter_systemd_scope(const ScopeRequest& request) {
  const std::string doing = "ask systemd (" + request.socket + ") for a unit";
  // Most hosts without systemd have no libsystemd either.
  if (::access(request.socket.c_str(), F_OK) != 0 && errno == ENOENT) {
    return Error{ErrorKind::unsupported, doing, ENOENT, {}};
  }
  try {
    systemd();
  } catch (const std::runtime_error& error) {
    return Error{ErrorKind::unsupported, doing + ": " + error.what(), 0, {}};
  }
  // Declared first: closing the bus may still call back.
  Conversation conversation;
  sd_bus* raw = nullptr;
  int r = systemd().create(&raw);
  const Bus bus(raw);
  const std::string address = "unix:path=" + escaped(request.socket);
  if (r >= 0) r = systemd().set_address(bus.get(), address.c_str());
  if (r >= 0) r = systemd().start(bus.get());
  if (r < 0) {
    const bool absent = r == -ENOENT || r == -ECONNREFUSED;
    return Error{absent ? ErrorKind::unsupported : ErrorKind::kernel, doing, -r, {}};
  }
  r = ask(bus.get(), request.name, conversation);
  if (r >= 0) r = listen(bus.get(), conversation, request.patience);
  if (r == -ETIMEDOUT) return Error{ErrorKind::timed_out, doing, ETIMEDOUT, {}};
  if (r < 0) return Error{ErrorKind::kernel, doing, -r, {}};
  if (!conversation.refusal.empty()) {
    return Error{ErrorKind::refused, doing + ": " + conversation.refusal, 0, {}};
  }
  const std::string& result = conversation.ended[*conversation.job];
  if (result == "done") return {};
  return Error{ErrorKind::refused, doing + ": its job ended as " + result, 0, {}};
}

}  // namespace runtime
