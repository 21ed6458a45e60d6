#include "studio/claims.h"

#include "http/request_error.h"
#include "studio/folder_paths.h"

namespace cortado::studio {

namespace {

/// With one slash at the end, and one between names.
std::string plain_path(const std::string& path) {
  std::string plain;
  for (const std::string& part : parts_of(path)) plain += part + "/";
  return plain;
}

[[noreturn]] void refuse_claimed(const std::string& path) {
  throw http::RequestError(http::Refusal::kConflict,
                           path.substr(0, path.size() - 1) + " is being made; try again when that is done");
}

}  // namespace

std::shared_ptr<void> Claims::claim(const std::string& path) {
  const std::string plain = plain_path(path);
  const std::lock_guard lock(mutex_);
  if (!paths_.insert(plain).second) refuse_claimed(plain);
  return {this, [plain](void* all) {
            Claims& claims = *static_cast<Claims*>(all);
            const std::lock_guard guard(claims.mutex_);
            claims.paths_.erase(plain);
          }};
}

void Claims::check_free(const std::string& path) const {
  const std::string plain = plain_path(path);
  const std::lock_guard lock(mutex_);
  for (const std::string& one : paths_)
    if (one.starts_with(plain) || plain.starts_with(one)) refuse_claimed(one);
}

}  // namespace cortado::studio
