#pragma once

#include <string>
#include <vector>

#include "tools/options/flags.h"

namespace cortado::tools {

/// A format that a command writes, and its file name endings. Messages show the first ending.
struct OutputFormat {
  std::string name;
  std::vector<std::string> endings;
  std::vector<std::string> flag_values = {};  ///< other values of format_chosen()'s flag for this format
};

/// The name of the format that the ending of `path` belongs to, in any case. "" for a folder, "-" and unknown endings.
/// Throws Error(kUsage) for the ending of a format not in `formats`; the message names `what` ("weights") and the hint
/// lists the endings.
std::string format_promised(const std::string& path, const std::string& what, const std::vector<OutputFormat>& formats);

/// The value of --`flag`, or else format_promised(); "" if neither is known. Throws Error(kUsage) also if the two
/// disagree.
std::string format_chosen(const Arguments& arguments, const std::string& flag, const std::string& path,
                          const std::string& what, const std::vector<OutputFormat>& formats);

/// The same for commands that write one format: throws only.
void check_output_name(const std::string& path, const std::string& what, const std::vector<std::string>& endings);

Flag force_flag();

/// Throws Error(kIo) if a file or folder at `path` would be replaced and --force is not given. '-' is stdout; pipes and
/// devices are allowed.
void check_may_replace(const Arguments& arguments, const std::string& path);

/// Endings of nets and solvers as text.
const std::vector<std::string>& prototxt_endings();

}  // namespace cortado::tools
