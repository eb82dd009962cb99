// The queries for lists of jobs, lessons, sandboxes and events, and their parameters.
#pragma once

#include <cstdint>
#include <optional>
#include <span>

#include "runtime/service/caller_lessons.h"
#include "runtime/service/query.h"
#include "runtime/service/sandbox_history.h"
#include "runtime/service/sandboxes.h"
#include "runtime/store/job_record.h"

namespace runtime {

struct EventListQuery {
  SandboxEventQuery events;             // without the owner, the order and the start of the page
  std::optional<std::uint64_t> cursor;  // the number of an event
  bool follows = false;
};

std::span<const RequestField<JobQuery>> job_query_fields() noexcept;
std::span<const RequestField<LessonQuery>> lesson_query_fields() noexcept;
std::span<const RequestField<Sandboxes::Query>> sandbox_query_fields() noexcept;
// The first lists the events of one sandbox, the second those of all sandboxes of a caller.
std::span<const RequestField<EventListQuery>> event_query_fields() noexcept;
std::span<const RequestField<EventListQuery>> audit_query_fields() noexcept;

// Parses the number of an event; returns std::nullopt where no event can have it.
std::optional<std::uint64_t> event_number_of(std::string_view text);

}  // namespace runtime
