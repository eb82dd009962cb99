#include "runtime/llm/curl_library.h"

namespace runtime::llm {

const Curl& curl() {
  static const Curl loaded;
  return loaded;
}

}  // namespace runtime::llm
