#pragma once

#include <functional>
#include <string>

namespace cortado::data {

/// Removes a replaced folder: only a dataset's files, so a folder with other content remains.
using FolderRemover = std::function<void(const std::string& folder)>;

/// Renames the folder `made` to `path`, whether `path` exists or not. If the process is killed, `path` has either its
/// old or its new content. One system call exchanges the two if the file system supports it. Otherwise `path` is moved
/// away first, and recover_folder() repairs an interruption in between. After the return, the change is on disk and the
/// replaced folder is removed. Throws Error(kIo); then `path` is unchanged and `made` still exists.
void put_folder_in_place(const std::string& made, const std::string& path, const FolderRemover& remove);

/// Restores `path` if an interruption left it moved away, or removes the replaced folder.
void recover_folder(const std::string& path, const FolderRemover& remove);

/// The path of the folder while it is moved away.
std::string replaced_folder(const std::string& path);

}  // namespace cortado::data
