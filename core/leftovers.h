#pragma once

#include <string>

namespace cortado {

/// Removes what processes that are gone were writing to put in the place of `path`: `path.tmp.PID`, files and folders
/// (temporary_beside()). One that another process has locked is not its, whatever its number: it may be another
/// machine's. A process lists each folder once. Throws nothing; what cannot be removed stays.
void remove_leftovers(const std::string& path);

}  // namespace cortado
