#pragma once

#include <string>
#include <vector>

namespace cortado::tools {

/// The name of the program of Caffe that `program` is called by, without ".bin"; "" if it is none.
std::string caffe_name_of(const std::string& program);

/// The command lines of `cortado` that do the work of the Caffe program by whose name this program was called, in
/// order. `words` as they are under other names. Throws Error(kUsage) for the programs that Caffe removed, naming their
/// replacement, and for missing operands.
std::vector<std::vector<std::string>> translate_caffe_call(const std::string& program, std::vector<std::string> words);

}  // namespace cortado::tools
