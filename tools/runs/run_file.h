#pragma once

// The files in a run's folder. A folder may come from elsewhere, so each of its files must be a regular one: a link may
// lead to a file that does not belong to the run, and a pipe may never get a writer.

#include <cstdint>
#include <string>
#include <string_view>

#include "core/files/descriptor.h"

namespace cortado::runs {

/// Whether it exists and is a regular file.
bool has_run_file(const std::string& path);

/// Throws Error(kIo) if `path` is something else than a regular file. It may be missing.
void check_run_file(const std::string& path);

/// Opens the file; `flags` are those of open(). Does not wait and follows no link. Throws Error(kIo).
Descriptor open_run_file(const std::string& path, int flags);

/// The content. Throws Error(kIo).
std::string read_run_file(const std::string& path, int64_t most = int64_t(1) << 40);
/// The same; "" if the file does not exist.
std::string read_run_file_if_any(const std::string& path);

/// Replaces the content like write_file_atomically(). Throws Error(kIo).
void write_run_file(const std::string& path, std::string_view content);

/// Appends the whole line or nothing. Returns 0, or the errno of the failed write. A short write is not an error; the
/// next write then reports the reason.
int append_line(int file, std::string_view line);

}  // namespace cortado::runs
