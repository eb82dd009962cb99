// The plan of living jails, made once for all that are alike.
#pragma once

#include <memory>
#include <mutex>

#include "jail/fd.h"
#include "jail/result.h"
#include "plan/plan.h"

namespace jail {

struct SharedPlan {
  Plan plan;
  Fd image;
};

// A jail keeps its plan, and its init the image, for as long as it lives: that is more memory than
// all else that an idle jail costs its owner. Thread-safe.
class SharedPlans {
 public:
  // The one that was asked for last where it is equal. Errors: those of to_image().
  Result<std::shared_ptr<const SharedPlan>> share(Plan plan);

 private:
  std::mutex mutex_;
  std::shared_ptr<const SharedPlan> latest_;
};

}  // namespace jail
