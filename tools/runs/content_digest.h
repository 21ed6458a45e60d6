#pragma once

#include <string>

#include "tools/runs/run_record.h"

namespace cortado::runs {

/// Kind, size and digest of a file, or of the database in a folder. The digest tells whether two runs read the same: of
/// files up to 64 MiB it is that of all bytes, of larger ones that of 16,384 blocks of 4 KiB that lie evenly, the first
/// and the last among them. A file that cannot be read has none.
InputFile describe_input(const std::string& kind, const std::string& path);

}  // namespace cortado::runs
