#include "runtime/service/turn.h"

#include <boost/asio/post.hpp>
#include <boost/asio/this_coro.hpp>
#include <memory>
#include <utility>

#include "runtime/living/bell.h"

namespace runtime {

namespace asio = boost::asio;

asio::awaitable<std::optional<Admission::Place>> place_of(Admission& places, std::string owner,
                                                          Cancel cancel) {
  struct Turn {
    std::optional<Admission::Place> place;
    bool is_answered = false;
  };
  const asio::any_io_executor executor = co_await asio::this_coro::executor;
  const auto turn = std::make_shared<Turn>();
  const auto bell = Bell::create(executor);
  Admission::Answer answer = [turn, bell, executor](std::optional<Admission::Place> place) {
    // The place is shared since a std::function must be copyable.
    auto held = std::make_shared<std::optional<Admission::Place>>(std::move(place));
    asio::post(executor, [turn, bell, held = std::move(held)] {
      turn->place = std::move(*held);
      turn->is_answered = true;
      Bell::ring(bell);
    });
  };
  const auto ticket = places.ask(owner, std::move(answer));
  const Cancel::Listener on_cancel(cancel, [bell] { Bell::ring(bell); });
  while (ticket != nullptr && !turn->is_answered) {
    // Where the ticket cannot be withdrawn, the answer is on its way.
    if (cancel.requested() && places.withdraw(ticket)) co_return std::nullopt;
    co_await bell->wait();
  }
  co_return std::move(turn->place);
}

}  // namespace runtime
