#include "parent/shared_plans.h"

#include <utility>

namespace jail {

Result<std::shared_ptr<const SharedPlan>> SharedPlans::share(Plan plan) {
  const std::lock_guard lock(mutex_);
  if (latest_ != nullptr && latest_->plan == plan) return latest_;
  auto image = to_image(plan);
  if (!image) return image.error();
  latest_ = std::make_shared<const SharedPlan>(SharedPlan{std::move(plan), std::move(*image)});
  return latest_;
}

}  // namespace jail
