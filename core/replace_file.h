#pragma once

#include <string>

namespace cortado {

/// Makes `temporary`, a whole file beside `path`, take its place as AtomicFile does: fsync, rename, fsync of the
/// folder. Throws Error(kIo); `temporary` is removed then.
void replace_file(const std::string& temporary, const std::string& path);

}  // namespace cortado
