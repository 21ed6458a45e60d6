#include "tools/companion.h"

#include <unistd.h>

#include <cerrno>
#include <cstring>

#include "core/program_path.h"

namespace cortado::tools {

int become_companion(const std::string& program, const std::string& hint, const Arguments& arguments) {
  const std::string path = companion_path(program);
  if (path.empty()) throw Error(ExitCode::kUsage, "this build has no " + program + " beside cortado", hint);
  std::vector<std::string> words = {path};
  for (const auto& [flag, values] : arguments.given())
    for (const std::string& value : values) words.push_back("--" + flag + "=" + value);
  std::vector<char*> argv;
  for (std::string& word : words) argv.push_back(word.data());
  argv.push_back(nullptr);
  execv(path.c_str(), argv.data());
  throw Error(ExitCode::kIo, path + ": cannot be started: " + std::strerror(errno));
}

}  // namespace cortado::tools
