// This thread in the place of a jail's user, where that is not this process's own.
#pragma once

#include "child/wire.h"

namespace jail {

// While it lives, files are made and opened as that user. Where the ids are 0, nothing is changed.
class ActAs {
 public:
  explicit ActAs(const wire::Ids& ids) noexcept;
  ActAs(const ActAs&) = delete;
  ~ActAs();

 private:
  wire::Ids own_{};
};

// While it lives, what is made counts as that user's as well, such as the pages of pipes.
class CountAs {
 public:
  explicit CountAs(const wire::Ids& ids) noexcept;
  CountAs(const CountAs&) = delete;
  ~CountAs();

 private:
  wire::Ids own_{};
};

// While it lives, this thread has the rights of who made that user's namespaces, in them alone.
class AdministerAs {
 public:
  explicit AdministerAs(const wire::Ids& ids) noexcept;
  AdministerAs(const AdministerAs&) = delete;
  ~AdministerAs();

 private:
  wire::Ids own_{};
};

}  // namespace jail
