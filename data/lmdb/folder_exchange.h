#pragma once

#include <functional>
#include <string>

namespace cortado::data {

/// Removes a folder that is replaced: a dataset's files and no others, so that a folder with something else in it
/// stays.
using FolderRemover = std::function<void(const std::string& folder)>;

/// Gives the folder `made` the name `path`, whether that exists or not, so that after a death at any moment `path` is
/// there as it was or as it will be. One call of the system exchanges the two where the file system can; elsewhere
/// `path` is moved out of the way first, and a death in between leaves what recover_folder() mends. When it has
/// returned, that is on the disk and what was replaced is gone. Throws Error(kIo); then `path` is what it was and
/// `made` is still there.
void put_folder_in_place(const std::string& made, const std::string& path, const FolderRemover& remove);

/// Brings `path` back if a death left it moved out of the way, or removes what was to be replaced.
void recover_folder(const std::string& path, const FolderRemover& remove);

/// Where `path` lies while it is moved out of the way.
std::string replaced_folder(const std::string& path);

}  // namespace cortado::data
