#include "server/cli/benchmark.h"

namespace server {

int benchmark(const BenchmarkOptions&, runtime::Environment) { return 125; }

}  // namespace server
