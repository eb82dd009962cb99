// The part of a connection that has a jail.
#pragma once

#include "client.h"

// Leases a jail, or stays in CLIENT_WAITS where none is available at the moment.
void run_lease(struct client* client);

// Ends the answer when both have come, in either order: the report, and the end of the output.
void run_finish_if_over(struct client* client);

// The callbacks of a client's sources.
void run_on_control(void* owner, uint32_t events);
void run_on_output(void* owner, uint32_t events);
