// Only in builds with ThreadSanitizer, which does not understand fences: Asio counts the owners of
// an executor with a relaxed counter and a fence before the last one deletes it.
// The sanitizer is a shared library and finds this only where it can be seen from outside.
#if defined(__SANITIZE_THREAD__)
extern "C" __attribute__((visibility("default"))) const char* __tsan_default_suppressions();
extern "C" const char* __tsan_default_suppressions() {
  return "race:boost::asio::execution::detail::shared_target_executor\n";
}
#endif
