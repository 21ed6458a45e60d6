#include "studio/folder_paths.h"

#include <fcntl.h>

#include <algorithm>
#include <cerrno>
#include <cstring>

#include "http/request_error.h"

namespace cortado::studio {

using http::Refusal;
using http::RequestError;

std::vector<std::string> parts_of(const std::string& path) {
  if (path.size() > 1000 || path.find('\0') != std::string::npos) throw RequestError(Refusal::kInvalid, "invalid path");
  if (path.starts_with('/'))
    throw RequestError(Refusal::kForbidden, path + ": the path is outside of the studio's folder");
  std::vector<std::string> parts;
  for (size_t begin = 0; begin < path.size();) {
    const size_t end = std::min(path.find('/', begin), path.size());
    const std::string part = path.substr(begin, end - begin);
    if (part == "..") throw RequestError(Refusal::kForbidden, path + ": the path is outside of the studio's folder");
    if (!part.empty() && part != ".") parts.push_back(part);
    begin = end + 1;
  }
  return parts;
}

void refuse_path(const std::string& path, int error) {
  if (error == ELOOP || error == ENOTDIR) throw RequestError(Refusal::kForbidden, path + ": links are not followed");
  if (error == EEXIST || error == ENOTEMPTY) throw RequestError(Refusal::kConflict, path + " exists already");
  if (error == ENOENT) throw RequestError(Refusal::kNotFound, path + ": no such file or folder");
  throw RequestError(Refusal::kInvalid, path + ": " + std::strerror(error));
}

Descriptor open_folder_in(int folder, const std::string& name) {
  return Descriptor(::openat(folder, name.c_str(), O_PATH | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC));
}

Descriptor open_above(int root, const std::string& path, const std::vector<std::string>& parts) {
  Descriptor folder = open_folder_in(root, ".");
  for (size_t i = 0; i + 1 < parts.size() && folder.ok(); ++i) folder = open_folder_in(folder.fd(), parts[i]);
  if (!folder.ok()) refuse_path(path, errno);
  return folder;
}

Descriptor open_below(int root, const std::string& path, int flags) {
  const std::vector<std::string> parts = parts_of(path);
  const Descriptor above = open_above(root, path, parts);
  Descriptor file(
      ::openat(above.fd(), parts.empty() ? "." : parts.back().c_str(), flags | O_NOFOLLOW | O_CLOEXEC | O_NONBLOCK));
  if (!file.ok()) refuse_path(path, errno);
  return file;
}

}  // namespace cortado::studio
