#pragma once

#include <array>
#include <chrono>
#include <memory>
#include <optional>
#include <string>

#include "jail/process.h"
#include "plan/plan.h"

namespace jail {

struct Process::State {
  static Process make(std::unique_ptr<State> state) { return Process(std::move(state)); }

  Result<ProcessPhase> read_reports();
  Result<ProcessPhase> give_up(Ended why);
  Error start_error(const wire::Message& message) const;

  ProcessPhase phase = ProcessPhase::starting;
  std::optional<Error> failure;      // what advance() said; nothing follows it
  std::shared_ptr<const Plan> plan;  // kept for the names of its steps
  std::string path;                  // of its program
  std::chrono::milliseconds wall{0};
  std::chrono::milliseconds cpu{0};
  Fd control;
  std::array<Fd, 3> streams;
  bool has_terminal = false;
  Fd terminal;
  int pid = 0;
  ExitReport report;
};

}  // namespace jail
