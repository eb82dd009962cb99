// Callers that were built with an older or a newer header than the library.
#include <stddef.h>

#include "checks.h"

// Asks explain(), which refuses limits that no jail can have.
static jail_status try_limits(const jail_launcher *launcher, const jail_limits *limits,
                              jail_error *error) {
  char *text = NULL;
  jail_spec *spec = python_spec("");
  jail_status status = jail_spec_set_limits(spec, limits, error);
  if (status == JAIL_OK) status = jail_launcher_explain(launcher, spec, &text, error);
  jail_text_destroy(text);
  jail_spec_destroy(spec);
  return status;
}

static void check_given(const jail_launcher *launcher) {
  jail_limits limits = {.size = sizeof limits, .memory_bytes = 1};
  REFUSES("limits.memory_bytes: below 1 MiB", try_limits(launcher, &limits, &error));
  // An older caller has no such member: the library must ignore the bytes in its place.
  limits.size = offsetof(jail_limits, memory_bytes);
  SUCCEEDS(try_limits(launcher, &limits, &error));
  limits.size = sizeof limits.size;
  SUCCEEDS(try_limits(launcher, &limits, &error));

  limits.size = 0;
  REFUSES("jail_limits.size: 0", try_limits(launcher, &limits, &error));
  limits.size = sizeof limits.size - 1;
  REFUSES("jail_limits.size: 7", try_limits(launcher, &limits, &error));
  limits.size = (size_t)-1;
  REFUSES("jail_limits.size", try_limits(launcher, &limits, &error));

  struct {
    jail_limits known;
    uint64_t later;
  } newer = {.known = {.size = sizeof newer}};
  SUCCEEDS(try_limits(launcher, &newer.known, &error));
  newer.later = 1;
  REFUSES("does not know", try_limits(launcher, &newer.known, &error));

  limits = (jail_limits){.size = sizeof limits, .reserved = 1};
  REFUSES("jail_limits.reserved", try_limits(launcher, &limits, &error));
  limits = (jail_limits){.size = sizeof limits, .wall_ms = UINT64_MAX};
  REFUSES("jail_limits.wall_ms: more than a century", try_limits(launcher, &limits, &error));
}

static void check_filled(const jail_launcher *launcher) {
  jail_enforcement held;
  memset(&held, 0x55, sizeof held);
  held.size = offsetof(jail_enforcement, processes_by);
  const jail_enforcement before = held;
  SUCCEEDS(jail_launcher_enforcement(launcher, &held, &error));
  CHECK(held.memory_by == JAIL_ENFORCER_WATCHDOG);
  CHECK(held.size == before.size);
  const size_t end = before.size;
  CHECK(memcmp((char *)&held + end, (const char *)&before + end, sizeof held - end) == 0);

  struct {
    jail_enforcement known;
    uint64_t later;
  } newer;
  memset(&newer, 0x55, sizeof newer);
  newer.known.size = sizeof newer;
  SUCCEEDS(jail_launcher_enforcement(launcher, &newer.known, &error));
  CHECK(newer.known.processes_by == JAIL_ENFORCER_RLIMIT);
  CHECK(newer.later == 0);

  held.size = 0;
  REFUSES("jail_enforcement.size: 0", jail_launcher_enforcement(launcher, &held, &error));
}

static void check_errors(void) {
  jail_error error;
  memset(&error, 0x55, sizeof error);
  error.size = sizeof error - 1;
  const jail_error before = error;
  CHECK(jail_spec_new(NULL, &error) == JAIL_INVALID);
  CHECK(memcmp(&error, &before, sizeof error) == 0);

  struct {
    jail_error known;
    uint64_t later;
  } newer = {.known = {.size = sizeof newer}, .later = 7};
  CHECK(jail_spec_new(NULL, &newer.known) == JAIL_INVALID);
  CHECK(strcmp(newer.known.text, "jail_spec_new: spec is NULL") == 0);
  CHECK(newer.later == 7);
}

void check_sizes(const jail_launcher *launcher) {
  check_given(launcher);
  check_filled(launcher);
  check_errors();
}
