#include "server/cli/progress.h"

#include <array>
#include <string_view>
#include <utility>

#include "server/cli/write_all.h"

namespace server {
namespace {

constexpr std::chrono::milliseconds frame{100};
constexpr std::array<std::string_view, 10> wheel = {"⠋", "⠙", "⠹", "⠸", "⠼",
                                                    "⠴", "⠦", "⠧", "⠇", "⠏"};
constexpr std::string_view erase_line = "\r\x1b[K";

}  // namespace

Progress::Progress(boost::asio::any_io_executor executor, int fd, ProgressPlace place,
                   ProgressStyle style)
    : fd_(fd),
      place_(place),
      words_(style),
      timer_(std::move(executor)),
      since_(std::chrono::steady_clock::now()) {}

void Progress::start() {
  if (place_ == ProgressPlace::terminal) tick();
}

void Progress::add(const runtime::agent::Event& event) {
  if (event.type == runtime::agent::EventType::token) characters_ += event.data.size() - 2;
  ProgressStep step = words_.of(event);
  if (!step.doing.empty()) {
    doing_ = std::move(step.doing);
    since_ = std::chrono::steady_clock::now();
    characters_ = 0;
  }
  if (!step.text.empty()) show(step.text);
}

void Progress::finish(const runtime::agent::TaskResult& result) {
  over_ = true;
  timer_.cancel();
  show(words_.end_of(result));
}

// Nobody who watches is no reason to stop.
void Progress::show(const std::string& text) {
  if (place_ == ProgressPlace::lines) {
    static_cast<void>(write_all(fd_, text));
    return;
  }
  static_cast<void>(write_all(fd_, std::string(erase_line) + text));
  if (!over_) draw();
}

void Progress::draw() {
  const auto seconds =
      std::chrono::duration_cast<std::chrono::seconds>(std::chrono::steady_clock::now() - since_);
  std::string line(erase_line);
  line += wheel[turn_ % wheel.size()];
  line += " " + doing_ + " " + std::to_string(seconds.count()) + " s";
  if (characters_ > 0) line += ", " + std::to_string(characters_) + " characters";
  static_cast<void>(write_all(fd_, line));
}

void Progress::tick() {
  draw();
  ++turn_;
  timer_.expires_after(frame);
  timer_.async_wait([weak = weak_from_this()](boost::system::error_code error) {
    const auto self = weak.lock();
    if (!error && self != nullptr && !self->over_) self->tick();
  });
}

}  // namespace server
