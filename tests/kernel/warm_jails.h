// A pool of jails that are forked from a zygote with Python, and programs in them.
#pragma once

#include <gtest/gtest.h>

#include <chrono>
#include <string>
#include <utility>

#include "guest.h"
#include "tests/driven_pool.h"
#include "tests/time_scale.h"

namespace kernel_ring {

class DrivenPool : public ::DrivenPool {
 public:
  explicit DrivenPool(jail::TemplateSpec spec, const jail::PoolOptions& options = {.usual = 3})
      : ::DrivenPool(launcher(), std::move(spec), options) {}
};

inline jail::TemplateSpec python_template() {
  jail::TemplateSpec spec;
  spec.name = "python";
  spec.jail = spec_for({"/usr/bin/python3", "/workspace/main.py"});
  return spec;
}

inline Outcome finish(jail::Jail& jail, const std::string& code,
                      const jail::RunLimits& limits = {}) {
  const auto ready = jail.wait(jail::Phase::ready, scaled(std::chrono::seconds(10)));
  EXPECT_TRUE(ready) << (ready ? "" : ready.error().message());
  const auto written = jail.write_file("main.py", code, 0644);
  EXPECT_TRUE(written) << (written ? "" : written.error().message());
  jail.take_stdin();
  const auto started = jail.start(limits);
  EXPECT_TRUE(started) << (started ? "" : started.error().message());
  return collect(jail);
}

inline Outcome run_warm(DrivenPool& pool, const std::string& code,
                        const jail::RunLimits& limits = {}) {
  auto jail = pool->lease();
  if (!jail) {
    ADD_FAILURE() << jail.error().message();
    return {};
  }
  return finish(*jail, code, limits);
}

}  // namespace kernel_ring
