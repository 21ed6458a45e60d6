#pragma once

#include <string>
#include <system_error>

namespace cortado {

/// Where what is to replace `path` is made: `path.tmp.PID`.
std::string temporary_beside(const std::string& path);

/// Makes `temporary`, a whole file beside `path`, take its place as AtomicFile does: fsync, rename, fsync of the
/// folder. Throws Error(kIo); `temporary` is removed then.
void replace_file(const std::string& temporary, const std::string& path);

/// Makes what was made, renamed or removed in `folder` ("": the current one) last. Throws Error(kIo). A file system
/// that cannot sync folders, and a folder that may not be read, are no errors: there is nothing to be done about them.
void sync_folder(const std::string& folder);

/// Makes a folder and those above it that are missing, and makes their names last: what is synced in a folder is lost
/// with the folder. False, without `failure`: it was there. Throws Error(kIo) as sync_folder().
bool make_folders(const std::string& folder, std::error_code& failure);

}  // namespace cortado
