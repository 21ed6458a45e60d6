#include "layers/common/data/mat_names.h"

#include "core/error.h"
#include "data/sources/list_file.h"

namespace cortado {

std::string MatNames::path(int64_t iteration, size_t blob) const {
  const std::string name = listed ? names[size_t(iteration)] : "iter_" + std::to_string(iteration);
  return prefix + name + "_blob_" + std::to_string(blob) + ".mat";
}

MatNames read_mat_names(const std::string& message, const std::string& prefix, const std::string& source,
                        int64_t strip) {
  if (prefix.empty()) throw FieldError(message + ".prefix", "it is empty", "set the start of the files' names");
  if (strip < 0) throw FieldError(message + ".strip", "strip is " + std::to_string(strip), "remove it, or set 0");
  MatNames names{prefix, !source.empty()};
  if (source.empty()) return names;
  const data::ListFile list(source, "name", "a line is a name", [&](std::string_view line) -> data::LineFault {
    const std::string_view word = line.substr(0, line.find_first_of(" \t"));
    if (int64_t(word.size()) <= strip)
      return {"the name has no more than strip: " + std::to_string(strip) + " characters"};
    names.names.emplace_back(word.substr(0, word.size() - size_t(strip)));
    return {};
  });
  return names;
}

}  // namespace cortado
