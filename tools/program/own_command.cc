#include "tools/program/own_command.h"

#include "core/files/file.h"

namespace cortado::tools {

std::vector<std::string> own_command() {
  std::vector<std::string> words;
  const std::string text = read_file("/proc/self/cmdline");
  for (size_t at = 0; at < text.size(); at += words.back().size() + 1) words.emplace_back(text.c_str() + at);
  return words;
}

}  // namespace cortado::tools
