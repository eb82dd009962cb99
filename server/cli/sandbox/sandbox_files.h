// agent-sandbox sandbox cp, ls and rm.
#pragma once

#include "server/cli/sandbox/sandbox_options.h"
#include "server/cli/sandbox/server_client.h"

namespace server::client {

// Each returns the exit status.
int copy(ServerClient& client, CopyOptions options);
int list_files(ServerClient& client, const ListFilesOptions& options);
int show_file_url(ServerClient& client, const FileUrlOptions& options);
int remove_file(ServerClient& client, const RemoveFileOptions& options);

}  // namespace server::client
