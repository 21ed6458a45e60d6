#pragma once

#include <string>
#include <vector>

namespace cortado::tools {

/// The name of Caffe's program that `program` has, without ".bin"; "" if it has none.
std::string caffe_name_of(const std::string& program);

/// The command lines of `cortado`, to be run in order, that do what a program of Caffe's does by whose name this one
/// was called (through a symlink); else `words` as they are. Throws Error(kUsage) for the programs that Caffe retired,
/// naming their replacement, and for too few words where these cannot be passed on as they are.
std::vector<std::vector<std::string>> translate_caffe_call(const std::string& program, std::vector<std::string> words);

}  // namespace cortado::tools
