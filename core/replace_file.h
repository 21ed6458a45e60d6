#pragma once

#include <string>

namespace cortado {

/// Where what is to replace `path` is made: `path.tmp.PID`.
std::string temporary_beside(const std::string& path);

/// Makes `temporary`, a whole file beside `path`, take its place as AtomicFile does: fsync, rename, fsync of the
/// folder. Throws Error(kIo); `temporary` is removed then.
void replace_file(const std::string& temporary, const std::string& path);

/// Makes what was made, renamed or removed in `folder` ("": the current one) last. Throws Error(kIo). A file system
/// that cannot sync folders, and a folder that may not be read, are no errors: there is nothing to be done about them.
void sync_folder(const std::string& folder);

}  // namespace cortado
