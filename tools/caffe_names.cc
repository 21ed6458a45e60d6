// A symlink named like a program of Caffe's takes that program's arguments. `caffe` differs in one command's name only;
// the others become commands whose flags and operands were chosen to match theirs.
#include "tools/caffe_names.h"

#include <algorithm>

#include "core/file.h"

namespace cortado::tools {

std::vector<std::string> translate_caffe_call(const std::string& program, std::vector<std::string> words) {
  const std::string name = file_name_of(program);
  if (name == "caffe") {
    std::replace(words.begin(), words.end(), std::string("device_query"), std::string("devices"));
  } else if (name == "convert_imageset") {
    words.insert(words.begin(), {"convert", "imageset"});
  } else if (name == "compute_image_mean") {
    words.insert(words.begin(), "mean");
  } else if (name == "extract_features") {
    words.insert(words.begin(), "features");
  } else if (name == "upgrade_net_proto_text" || name == "upgrade_net_proto_binary" ||
             name == "upgrade_solver_proto_text") {
    words.insert(words.begin(), "upgrade");
  }
  return words;
}

}  // namespace cortado::tools
