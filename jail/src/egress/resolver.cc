#include "egress/resolver.h"

#include <netdb.h>
#include <netinet/in.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <utility>

namespace jail::egress {

Found look_up(const std::string& name) {
  addrinfo hints{};
  hints.ai_family = AF_UNSPEC;
  hints.ai_socktype = SOCK_STREAM;
  hints.ai_flags = AI_ADDRCONFIG;
  addrinfo* list = nullptr;
  const int error = ::getaddrinfo(name.c_str(), nullptr, &hints, &list);
  if (error != 0) return {{}, ::gai_strerror(error)};
  Found found;
  for (const addrinfo* entry = list; entry != nullptr; entry = entry->ai_next) {
    if (entry->ai_family == AF_INET) {
      const auto* v4 = reinterpret_cast<const sockaddr_in*>(entry->ai_addr);
      found.addresses.push_back(
          address_of_v4(reinterpret_cast<const std::uint8_t*>(&v4->sin_addr)));
    } else if (entry->ai_family == AF_INET6) {
      const auto* v6 = reinterpret_cast<const sockaddr_in6*>(entry->ai_addr);
      found.addresses.push_back(address_of_v6(v6->sin6_addr.s6_addr));
    }
  }
  ::freeaddrinfo(list);
  if (found.addresses.empty()) found.trouble = "no address";
  return found;
}

Resolver::Resolver(LookUp look_up)
    : look_up_(std::move(look_up)), event_(::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK)) {
  for (std::size_t i = 0; i < threads; ++i) threads_.emplace_back([this] { serve(); });
}

Resolver::~Resolver() {
  {
    const std::lock_guard lock(mutex_);
    ends_ = true;
  }
  asked_.notify_all();
  for (std::thread& thread : threads_) thread.join();
}

bool Resolver::ask(std::uint64_t ticket, std::uint64_t jail, std::string name) {
  {
    const std::lock_guard lock(mutex_);
    if (waiting_ >= most_waiting) return false;
    queues_[jail].waiting.push_back({ticket, std::move(name)});
    ++waiting_;
  }
  asked_.notify_one();
  return true;
}

void Resolver::drop(std::uint64_t ticket, std::uint64_t jail) {
  const std::lock_guard lock(mutex_);
  const auto queue = queues_.find(jail);
  if (queue == queues_.end()) return;
  waiting_ -= std::erase_if(queue->second.waiting,
                            [&](const Question& question) { return question.ticket == ticket; });
  if (queue->second.waiting.empty() && queue->second.running == 0) queues_.erase(queue);
}

std::vector<Resolver::Answer> Resolver::answers() {
  std::uint64_t count;
  // Before the answers are taken, so that none is left without an event.
  [[maybe_unused]] const ssize_t cleared = ::read(event_.get(), &count, sizeof count);
  const std::lock_guard lock(mutex_);
  return std::exchange(answers_, {});
}

std::map<std::uint64_t, Resolver::Queue>::iterator Resolver::next() {
  const auto may_run = [](const auto& entry) {
    return !entry.second.waiting.empty() && entry.second.running < threads_per_jail;
  };
  const auto after = queues_.upper_bound(last_served_);
  const auto found = std::find_if(after, queues_.end(), may_run);
  if (found != queues_.end()) return found;
  const auto before = std::find_if(queues_.begin(), after, may_run);
  return before == after ? queues_.end() : before;
}

void Resolver::serve() {
  std::unique_lock lock(mutex_);
  for (;;) {
    auto turn = queues_.end();
    asked_.wait(lock, [&] { return ends_ || (turn = next()) != queues_.end(); });
    if (ends_) return;
    const std::uint64_t jail = last_served_ = turn->first;
    Question question = std::move(turn->second.waiting.front());
    turn->second.waiting.pop_front();
    ++turn->second.running;
    --waiting_;
    lock.unlock();
    Found found = look_up_(question.name);
    lock.lock();
    answers_.push_back({question.ticket, std::move(found)});
    Queue& queue = queues_[jail];
    --queue.running;
    // Another of this jail may have waited for this one's end.
    if (!queue.waiting.empty()) asked_.notify_one();
    if (queue.waiting.empty() && queue.running == 0) queues_.erase(jail);
    const std::uint64_t one = 1;
    [[maybe_unused]] const ssize_t told = ::write(event_.get(), &one, sizeof one);
  }
}

}  // namespace jail::egress
