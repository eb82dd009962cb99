#include "egress/resolver.h"

#include <errno.h>
#include <sys/socket.h>

#include <algorithm>
#include <utility>

namespace jail::egress {

bool Resolver::ask(std::uint64_t ticket, std::uint64_t jail, std::string name) {
  if (waiting_ >= max_waiting) return false;
  queues_[jail].waiting.push_back({ticket, std::move(name)});
  ++waiting_;
  begin_some();
  return true;
}

void Resolver::drop(std::uint64_t ticket, std::uint64_t jail) {
  const auto queue = queues_.find(jail);
  if (queue == queues_.end()) return;
  waiting_ -= std::erase_if(queue->second.waiting,
                            [&](const Waiting& waiting) { return waiting.ticket == ticket; });
  if (queue->second.waiting.empty() && queue->second.running == 0) queues_.erase(queue);
}

std::optional<std::vector<Resolver::Resolved>> Resolver::answers() {
  std::vector<Resolved> all;
  char datagram[max_answer_bytes];
  for (;;) {
    const ssize_t got = ::recv(socket_.get(), datagram, sizeof datagram, MSG_DONTWAIT);
    if (got < 0 && errno == EINTR) continue;
    if (got < 0 && errno == EAGAIN) break;
    if (got <= 0) return std::nullopt;
    auto answer = parse_answer({datagram, static_cast<std::size_t>(got)});
    if (!answer) return std::nullopt;
    auto resolved = finish(std::move(*answer));
    if (!resolved) return std::nullopt;
    all.push_back(std::move(*resolved));
  }
  begin_some();
  return all;
}

std::optional<Resolver::Resolved> Resolver::finish(Answer answer) {
  const auto running = std::exchange(slots_[answer.slot], std::nullopt);
  if (!running) return std::nullopt;
  const auto queue = queues_.find(running->jail);
  --queue->second.running;
  if (queue->second.waiting.empty() && queue->second.running == 0) queues_.erase(queue);
  return Resolved{running->ticket, std::move(answer.found)};
}

std::map<std::uint64_t, Resolver::Queue>::iterator Resolver::next() {
  const auto may_run = [](const auto& entry) {
    return !entry.second.waiting.empty() && entry.second.running < at_once_per_jail;
  };
  const auto after = queues_.upper_bound(last_served_);
  const auto found = std::find_if(after, queues_.end(), may_run);
  if (found != queues_.end()) return found;
  const auto before = std::find_if(queues_.begin(), after, may_run);
  return before == after ? queues_.end() : before;
}

void Resolver::begin_some() {
  for (std::uint32_t slot = 0; slot < slots_.size(); ++slot) {
    if (slots_[slot]) continue;
    const auto turn = next();
    if (turn == queues_.end()) return;
    Queue& queue = turn->second;
    last_served_ = turn->first;
    const std::string question = to_datagram(Question{slot, std::move(queue.waiting.front().name)});
    slots_[slot] = {queue.waiting.front().ticket, turn->first};
    queue.waiting.pop_front();
    ++queue.running;
    --waiting_;
    // The socket has room for the few questions that are under way. If the other process is gone
    // the socket is at its end, which answers() reports.
    ::send(socket_.get(), question.data(), question.size(), MSG_NOSIGNAL | MSG_DONTWAIT);
  }
}

}  // namespace jail::egress
