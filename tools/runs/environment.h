#pragma once

#include <map>
#include <string>

#include "core/context.h"
#include "tools/runs/run_record.h"

namespace cortado::runs {

/// Where a training runs: host, cpu, level (of instructions), threads, memory, device, libraries (that do the
/// arithmetic).
std::map<std::string, std::string> describe_environment(Context& context);

std::string host_name();  ///< "unknown" where the system does not tell
std::string program_version();

/// Kind, size and digest of a file, or of the database in a folder. The digest tells whether two runs read the same: of
/// files up to 64 MiB it is that of all bytes, of larger ones that of 16,384 blocks of 4 KiB that lie evenly, the first
/// and the last among them. A file that cannot be read has none.
InputFile describe_input(const std::string& kind, const std::string& path);

}  // namespace cortado::runs
