#include "c/boundary.h"
#include "c/handles.h"

static_assert(static_cast<int>(jail::NodeKind::directory) == JAIL_NODE_DIRECTORY);
static_assert(static_cast<int>(jail::NodeKind::file) == JAIL_NODE_FILE);

using jail::Result;
using jail::c::guarded;

extern "C" {

jail_status jail_root_host(jail_root** root, jail_error* error) {
  return guarded(__func__, {{"root", root}}, error, [&]() -> Result<void> {
    *root = new jail_root{jail::host_root()};
    return {};
  });
}

jail_status jail_root_directory(const char* path, jail_root** root, jail_error* error) {
  return guarded(__func__, {{"path", path}, {"root", root}}, error, [&]() -> Result<void> {
    Result<jail::Root> found = jail::directory_root(path);
    if (!found) return found.error();
    *root = new jail_root{std::move(*found)};
    return {};
  });
}

jail_status jail_root_empty(jail_root** root, jail_error* error) {
  return guarded(__func__, {{"root", root}}, error, [&]() -> Result<void> {
    *root = new jail_root{};
    return {};
  });
}

void jail_root_destroy(jail_root* root) { delete root; }

jail_status jail_root_bind(jail_root* root, const char* source, const char* target,
                           jail_node_kind kind, jail_error* error) {
  return guarded(
      __func__, {{"root", root}, {"source", source}, {"target", target}}, error,
      [&]() -> Result<void> {
        const auto mirror = jail::c::mirrored("jail_node_kind", kind, jail::NodeKind::file);
        if (!mirror) return mirror.error();
        root->root.binds.push_back({.source = source, .target = target, .kind = *mirror});
        return {};
      });
}

jail_status jail_root_link(jail_root* root, const char* target, const char* points_to,
                           jail_error* error) {
  return guarded(__func__, {{"root", root}, {"target", target}, {"points_to", points_to}}, error,
                 [&]() -> Result<void> {
                   root->root.links.push_back({.target = target, .points_to = points_to});
                   return {};
                 });
}

jail_status jail_root_file(jail_root* root, const char* target, const void* content, size_t length,
                           const struct timespec* modified, jail_error* error) {
  return guarded(__func__, {{"root", root}, {"target", target}}, error, [&]() -> Result<void> {
    const auto bytes = jail::c::bytes_of("content", content, length);
    if (!bytes) return bytes.error();
    jail::TextFile file{.target = target, .text = std::string(*bytes)};
    if (modified != nullptr) file.modified = *modified;
    root->root.files.push_back(std::move(file));
    return {};
  });
}

}  // extern "C"
