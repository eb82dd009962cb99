// Whom a transfer by libcurl trusts: hosts whose certificates are verified, and no redirect, proxy
// or setting of the environment.
#pragma once

#include <string>

#include "runtime/llm/curl_library.h"

namespace runtime::llm {

// Calls `set(option, value)` for each option. `ca_file` is trusted in place of the system's
// authorities, unless it is empty. An empty `proxy` is none.
template <class Set>
void set_curl_trust(const Set& set, const char* protocols, const std::string& ca_file,
                    const char* proxy) {
  set(CURLOPT_PROTOCOLS_STR, protocols);
  set(CURLOPT_FOLLOWLOCATION, 0L);
  set(CURLOPT_SSL_VERIFYPEER, 1L);
  set(CURLOPT_SSL_VERIFYHOST, 2L);
  set(CURLOPT_SSLVERSION, static_cast<long>(CURL_SSLVERSION_TLSv1_2));
  if (!ca_file.empty()) {
    set(CURLOPT_CAINFO, ca_file.c_str());
    set(CURLOPT_CAPATH, static_cast<const char*>(nullptr));
  }
  set(CURLOPT_PROXY, proxy);
  set(CURLOPT_NOPROXY, "");
}

}  // namespace runtime::llm
