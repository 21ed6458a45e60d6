#pragma once

#include <string>
#include <vector>

namespace cortado::tools {

/// The command lines as `cortado` would be told them, one after the other, when the program was called by the name of
/// one of Caffe's (through a symlink); else `words` as they are. Throws Error(kUsage) for the programs that Caffe gave
/// up, saying what took their place, and for too few words where these cannot be passed on as they are.
std::vector<std::vector<std::string>> translate_caffe_call(const std::string& program, std::vector<std::string> words);

}  // namespace cortado::tools
