#include "tools/infer/detection_names.h"

#include "core/log.h"
#include "data/formats/label_map.h"
#include "data/formats/labels.h"
#include "data/lmdb/dataset_names.h"

namespace cortado::tools {

std::map<int, std::string> detection_names(const std::string& path, const std::optional<LikeNet>& like) {
  if (path.ends_with(".prototxt") || path.ends_with(".pbtxt")) return data::shown_names(data::read_label_map(path));
  std::map<int, std::string> names;
  if (!path.empty()) {
    for (const std::string& name : data::read_labels(path)) names.emplace(int(names.size()), name);
    return names;
  }
  if (!like) return names;
  for (const std::string& source : like->sources()) {
    const std::string map = data::names_file_of(source, data::kLabelMapPart);
    if (map.empty()) continue;
    log_info() << "classes are named by " << map;
    return data::shown_names(data::read_label_map(map));
  }
  return names;
}

}  // namespace cortado::tools
