// libcurl's functions, by their names without `curl_`. libcurl and some thirty libraries that it
// needs take 3 ms and 440 page faults to load, which a command that asks nobody over HTTP does not
// spend.
#pragma once

#include <curl/curl.h>

#include "runtime/loader/late_library.h"

namespace runtime::llm {

struct Curl {
  LateLibrary library{"libcurl.so.4", "install libcurl 7.87 or newer (Debian: libcurl4)"};
  decltype(&::curl_easy_cleanup) easy_cleanup = library.function("curl_easy_cleanup");
  decltype(&::curl_easy_getinfo) easy_getinfo = library.function("curl_easy_getinfo");
  decltype(&::curl_easy_init) easy_init = library.function("curl_easy_init");
  decltype(&::curl_easy_recv) easy_recv = library.function("curl_easy_recv");
  decltype(&::curl_easy_send) easy_send = library.function("curl_easy_send");
  decltype(&::curl_easy_setopt) easy_setopt = library.function("curl_easy_setopt");
  decltype(&::curl_easy_strerror) easy_strerror = library.function("curl_easy_strerror");
  decltype(&::curl_global_cleanup) global_cleanup = library.function("curl_global_cleanup");
  decltype(&::curl_global_init) global_init = library.function("curl_global_init");
  decltype(&::curl_multi_add_handle) multi_add_handle = library.function("curl_multi_add_handle");
  decltype(&::curl_multi_cleanup) multi_cleanup = library.function("curl_multi_cleanup");
  decltype(&::curl_multi_info_read) multi_info_read = library.function("curl_multi_info_read");
  decltype(&::curl_multi_init) multi_init = library.function("curl_multi_init");
  decltype(&::curl_multi_perform) multi_perform = library.function("curl_multi_perform");
  decltype(&::curl_multi_poll) multi_poll = library.function("curl_multi_poll");
  decltype(&::curl_multi_remove_handle) multi_remove_handle =
      library.function("curl_multi_remove_handle");
  decltype(&::curl_multi_setopt) multi_setopt = library.function("curl_multi_setopt");
  decltype(&::curl_multi_socket_action) multi_socket_action =
      library.function("curl_multi_socket_action");
  decltype(&::curl_multi_strerror) multi_strerror = library.function("curl_multi_strerror");
  decltype(&::curl_slist_append) slist_append = library.function("curl_slist_append");
  decltype(&::curl_slist_free_all) slist_free_all = library.function("curl_slist_free_all");
};

// Loads libcurl at its first call. Throws std::runtime_error where it cannot. May be called from
// any thread.
const Curl& curl();

}  // namespace runtime::llm
