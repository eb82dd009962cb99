#include "jail/result.h"

#include <cstring>

namespace jail {

std::string Error::message() const {
  std::string text = doing;
  if (sys_errno != 0) {
    char buffer[128];
    text += ": ";
    text += ::strerror_r(sys_errno, buffer, sizeof buffer);  // the GNU form: returns the text
  }
  if (!hint.empty()) {
    text += ". Hint: ";
    text += hint;
  }
  return text;
}

}  // namespace jail
