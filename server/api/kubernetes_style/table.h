// Adds the routes of this interface to the table of all routes.
#pragma once

#include <utility>

#include "server/api/routes.h"

namespace server::kubernetes_style {

// Adds rows whose refusals are envelopes.
class Table {
 public:
  explicit Table(RouteTable& table) : table_(table) {}

  void add(Route route) {
    route.refusals = Route::Refusals::envelopes;
    table_.add(std::move(route));
  }

 private:
  RouteTable& table_;
};

}  // namespace server::kubernetes_style
