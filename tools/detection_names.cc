#include "tools/detection_names.h"

#include "core/file.h"
#include "core/log.h"
#include "data/convert/convert.h"
#include "data/formats/labels.h"
#include "proto/read_text.h"

namespace cortado::tools {

namespace {

std::map<int, std::string> names_of_map(const std::string& path) {
  caffe::LabelMap map;
  read_message_from_text(read_file(path, int64_t(1) << 26), path, map);
  std::map<int, std::string> names;
  for (const caffe::LabelMapItem& item : map.item())
    names[item.label()] = item.display_name().empty() ? item.name() : item.display_name();
  return names;
}

}  // namespace

std::map<int, std::string> detection_names(const std::string& path, const std::optional<LikeNet>& like) {
  if (path.ends_with(".prototxt") || path.ends_with(".pbtxt")) return names_of_map(path);
  std::map<int, std::string> names;
  if (!path.empty()) {
    for (const std::string& name : data::read_labels(path)) names.emplace(int(names.size()), name);
    return names;
  }
  if (!like) return names;
  for (const std::string& source : like->sources()) {
    const std::string map = data::label_map_of(source);
    if (!file_exists(map)) continue;
    log_info() << "classes are named by " << map;
    return names_of_map(map);
  }
  return names;
}

}  // namespace cortado::tools
