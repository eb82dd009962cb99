#include "runtime/llm/curl_library.h"

#include "runtime/loader/late_library.h"

namespace runtime::llm {

const Curl& curl() {
  static const Curl loaded = [] {
    const LateLibrary library("libcurl.so.4", "install libcurl 7.87 or newer (Debian: libcurl4)");
    Curl curl;
    library.find(curl.easy_cleanup, "curl_easy_cleanup");
    library.find(curl.easy_getinfo, "curl_easy_getinfo");
    library.find(curl.easy_init, "curl_easy_init");
    library.find(curl.easy_recv, "curl_easy_recv");
    library.find(curl.easy_send, "curl_easy_send");
    library.find(curl.easy_setopt, "curl_easy_setopt");
    library.find(curl.easy_strerror, "curl_easy_strerror");
    library.find(curl.global_cleanup, "curl_global_cleanup");
    library.find(curl.global_init, "curl_global_init");
    library.find(curl.multi_add_handle, "curl_multi_add_handle");
    library.find(curl.multi_cleanup, "curl_multi_cleanup");
    library.find(curl.multi_info_read, "curl_multi_info_read");
    library.find(curl.multi_init, "curl_multi_init");
    library.find(curl.multi_perform, "curl_multi_perform");
    library.find(curl.multi_poll, "curl_multi_poll");
    library.find(curl.multi_remove_handle, "curl_multi_remove_handle");
    library.find(curl.multi_setopt, "curl_multi_setopt");
    library.find(curl.multi_socket_action, "curl_multi_socket_action");
    library.find(curl.multi_strerror, "curl_multi_strerror");
    library.find(curl.slist_append, "curl_slist_append");
    library.find(curl.slist_free_all, "curl_slist_free_all");
    return curl;
  }();
  return loaded;
}

}  // namespace runtime::llm
