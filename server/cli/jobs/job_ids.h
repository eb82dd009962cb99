// Jobs that are named by the beginning of their id.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

#include "server/cli/sandbox/server_client.h"

namespace server::client {

// Fewer characters of an id are no name of a job.
inline constexpr std::size_t fewest_characters = 6;

// Whether an id of a job may begin with `word`, and `word` is no whole one.
bool may_begin_id(std::string_view word);

// The id of the one job that begins with `word`. `word` itself where it is no beginning, or where
// no job has it, so that the server says so. Errors: several jobs have it (ErrorKind::refused);
// those of the client.
jail::Result<std::string> whole_job_id(ServerClient& client, const std::string& word);

// Adds to a refusal of a job named `word` that an id has more characters, where `word` looks like
// the beginning of one.
jail::Error with_fewest_characters(jail::Error refusal, std::string_view word);

}  // namespace server::client
