// What init of a living jail hands to its owner before anything runs in it.
#pragma once

namespace jail::child {

// Hands over the root, the contexts of the file systems whose size can be changed, and last the
// working directory, by which the owner knows that the jail is ready. `before` is the result of the
// last step before this one, a negative errno where that failed. Returns false where it or a step
// of this failed, which the owner has been told.
bool hand_over(int control, long before, const long* slots);

}  // namespace jail::child
