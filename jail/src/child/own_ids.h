// A user and a group of the host that no other jail has: see jail/id_range.h.
#pragma once

#include "child/wire.h"

namespace jail::child {

// This process counts as the jail's user from here on, who then owns the user namespace that is
// cloned. Files it reaches as before: the cgroup that a jail is cloned into belongs to this
// process's own user. `own` has the ids to go back to. Without `ids` it does nothing. 0 or a
// negative errno.
long count_as(const wire::Ids& ids, wire::Ids& own);
void stop_counting_as(const wire::Ids& ids, const wire::Ids& own);

// Puts the jail's ids into the maps that the first calls of its plan write, where they have a place
// for them.
void fill_id_maps(const wire::PlanHeader& plan, char* base, const wire::Ids& ids);

// Writes the maps of a template's host, which was cloned as `pid`. 0 or a negative errno.
long write_maps_of_host(const wire::PlanHeader& plan, const char* base, long pid);

}  // namespace jail::child
