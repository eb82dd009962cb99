#include "runtime/sandbox/admission.h"

#include <algorithm>

namespace runtime {

// Has a lock of its own, so that claims and places do not wait for one another.
struct Admission::Claims {
  std::mutex mutex;
  std::map<std::string, std::uint32_t> counts;  // no count is 0
};

Admission::Admission(std::uint32_t places, std::uint32_t queue, std::uint32_t a_caller)
    : places_(places),
      queue_limit_(queue),
      caller_limit_(a_caller),
      claims_(std::make_shared<Claims>()) {}

std::optional<Admission::Claim> Admission::claim(const std::string& caller) {
  Claim claim;
  if (caller_limit_ == 0) return claim;
  const std::lock_guard lock(claims_->mutex);
  claim.caller_ = claims_->counts.try_emplace(caller, 0).first;
  if (claim.caller_->second >= caller_limit_) return std::nullopt;
  ++claim.caller_->second;
  claim.claims_ = claims_;
  return claim;
}

Admission::Claim::~Claim() {
  if (claims_ == nullptr) return;
  const std::lock_guard lock(claims_->mutex);
  if (--caller_->second == 0) claims_->counts.erase(caller_);
}

void Admission::Claim::swap(Claim& other) noexcept {
  claims_.swap(other.claims_);
  std::swap(caller_, other.caller_);
}

std::optional<Admission::Place> Admission::take_free() {
  const std::lock_guard lock(mutex_);
  if (!take_one()) return std::nullopt;
  return Place(*this);
}

// Must be called with the lock held.
bool Admission::take_one() {
  const bool there = taken_ < places_;
  if (there) ++taken_;
  return there;
}

Admission::Ticket Admission::ask(const std::string& caller, Answer answer) {
  auto ticket = std::make_shared<Answer>(std::move(answer));
  bool granted = false;
  Ticket pushed_out;
  {
    const std::lock_guard lock(mutex_);
    granted = take_one();
    if (!granted) {
      if (queued_ >= queue_limit_) {
        pushed_out = make_room_for(caller);
        if (pushed_out == nullptr) return nullptr;
      }
      auto line = line_of(caller);
      if (line == lines_.end()) line = lines_.insert(line, {.caller = caller, .tickets = {}});
      line->tickets.push_back(ticket);
      ++queued_;
    }
  }
  if (granted) (*ticket)(Place(*this));
  if (pushed_out != nullptr) (*pushed_out)(std::nullopt);
  return ticket;
}

bool Admission::withdraw(const Ticket& ticket) {
  const std::lock_guard lock(mutex_);
  for (auto line = lines_.begin(); line != lines_.end(); ++line) {
    const auto found = std::find(line->tickets.begin(), line->tickets.end(), ticket);
    if (found == line->tickets.end()) continue;
    line->tickets.erase(found);
    if (line->tickets.empty()) lines_.erase(line);
    --queued_;
    return true;
  }
  return false;
}

void Admission::give_back() {
  Ticket next;
  {
    const std::lock_guard lock(mutex_);
    if (lines_.empty()) {
      --taken_;
      return;
    }
    Line line = std::move(lines_.front());
    lines_.pop_front();
    next = std::move(line.tickets.front());
    line.tickets.pop_front();
    --queued_;
    if (!line.tickets.empty()) lines_.push_back(std::move(line));
  }
  (*next)(Place(*this));  // the place changes its holder without becoming free
}

std::deque<Admission::Line>::iterator Admission::line_of(const std::string& caller) {
  return std::find_if(lines_.begin(), lines_.end(),
                      [&](const Line& line) { return line.caller == caller; });
}

// Must be called with the lock held. The latest request of the longest line leaves the queue, where
// that line stays at least as long as that of `caller` becomes. A line that loses a request has
// others in it.
Admission::Ticket Admission::make_room_for(const std::string& caller) {
  const auto longest = std::max_element(
      lines_.begin(), lines_.end(),
      [](const Line& a, const Line& b) { return a.tickets.size() < b.tickets.size(); });
  if (longest == lines_.end()) return nullptr;
  const auto own = line_of(caller);
  const std::size_t waiting = own == lines_.end() ? 0 : own->tickets.size();
  if (longest->tickets.size() < waiting + 2) return nullptr;
  const Ticket last = std::move(longest->tickets.back());
  longest->tickets.pop_back();
  --queued_;
  return last;
}

std::uint32_t Admission::running() const {
  const std::lock_guard lock(mutex_);
  return taken_;
}

std::uint32_t Admission::queued() const {
  const std::lock_guard lock(mutex_);
  return queued_;
}

}  // namespace runtime
