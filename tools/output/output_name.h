#pragma once

#include <string>
#include <vector>

#include "tools/options/flags.h"

namespace cortado::tools {

/// A format that a command writes, and the endings of file names that promise it. The first ending is shown in
/// messages.
struct OutputFormat {
  std::string name;
  std::vector<std::string> endings;
  std::vector<std::string> flag_values = {};  ///< of format_chosen()'s flag, besides the name
};

/// The name of the format, of those that can be written, that the ending of `path` promises, whatever its case; ""
/// where it promises none: a folder, "-", an ending that is no format's. Throws Error(kUsage) where it promises another
/// format: `what` ("weights") and the endings that there are make the hint.
std::string format_promised(const std::string& path, const std::string& what, const std::vector<OutputFormat>& formats);

/// What --`flag` says, or else format_promised(); "" where neither says anything. Throws Error(kUsage) also where the
/// two disagree.
std::string format_chosen(const Arguments& arguments, const std::string& flag, const std::string& path,
                          const std::string& what, const std::vector<OutputFormat>& formats);

/// The same where there is one format: only refuses.
void check_output_name(const std::string& path, const std::string& what, const std::vector<std::string>& endings);

Flag force_flag();

/// Throws Error(kIo) where something lies at `path` that writing would replace, unless --force was given. '-' is
/// stdout; pipes and devices are written to.
void check_may_replace(const Arguments& arguments, const std::string& path);

/// Texts: nets and solvers.
const std::vector<std::string>& prototxt_endings();

}  // namespace cortado::tools
