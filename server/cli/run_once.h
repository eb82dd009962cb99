// One run from code that is no coroutine.
#pragma once

#include <boost/asio/thread_pool.hpp>

#include "runtime/sandbox/runner.h"

namespace server {

// Works as one of the pool's threads until the run has ended, then stops the pool, so that nothing
// of it goes on. The pool may have no thread of its own.
jail::Result<runtime::RunResult> run_once(runtime::Runner& runner, boost::asio::thread_pool& pool,
                                          runtime::RunRequest request, runtime::RunOptions options);

}  // namespace server
