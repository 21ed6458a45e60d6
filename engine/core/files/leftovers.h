#pragma once

#include <string>
#include <string_view>

#include "core/function_ref.h"

namespace cortado {

/// Removes what processes that are gone were writing to put in the place of `path`: `path.tmp.PID`, files and folders
/// (temporary_beside()). One that another process has locked is not its, whatever its number: it may be another
/// machine's. A process lists each folder once. Throws nothing; what cannot be removed stays.
void remove_leftovers(const std::string& path);

/// Removes the files that anybody was writing to put in the place of files in `folder` that `are_ours` says yes to, by
/// their names: for the holder of a lock that lets nobody else write them.
void remove_leftovers(const std::string& folder, FunctionRef<bool(std::string_view name)> are_ours);

}  // namespace cortado
