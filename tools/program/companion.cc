#include "tools/program/companion.h"

#include <unistd.h>

#include <cerrno>
#include <cstring>

#include "core/files/file.h"
#include "core/process/process.h"
#include "core/process/program_path.h"

namespace cortado::tools {

int exec_companion(const std::string& program, const std::string& hint, const Arguments& arguments) {
  const std::string path = companion_path(program);
  if (path.empty()) throw Error(ExitCode::kUsage, "this build has no " + program, hint);
  std::vector<std::string> words = {path};
  for (const auto& [flag, values] : arguments.given())
    for (const std::string& value : values) words.push_back("--" + flag + "=" + value);
  ::execv(path.c_str(), pointers_to(words).data());
  throw Error(ExitCode::kIo, path + ": cannot be started: " + std::strerror(errno));
}

std::vector<std::string> own_command() {
  std::vector<std::string> words;
  const std::string text = read_file("/proc/self/cmdline");
  for (size_t at = 0; at < text.size(); at += words.back().size() + 1) words.emplace_back(text.c_str() + at);
  return words;
}

}  // namespace cortado::tools
