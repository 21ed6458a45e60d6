#pragma once

#include <map>
#include <string>

#include "core/context.h"
#include "tools/runs/run_record.h"

namespace cortado::runs {

/// The environment of a training: host, cpu, level (of instructions), threads, memory, device, and the libraries that
/// compute.
std::map<std::string, std::string> describe_environment(Context& context);

std::string host_name();  ///< "unknown" if the system does not report it
std::string program_version();

/// Kind, size and digest of a file, or of the database in a folder. Equal digests mean that two runs read the same
/// data. The digest is of all bytes for files up to 64 MiB, and of 16,384 evenly spaced blocks of 4 KiB, including the
/// first and the last, for larger ones. A file that cannot be read has no digest.
InputFile describe_input(const std::string& kind, const std::string& path);

}  // namespace cortado::runs
