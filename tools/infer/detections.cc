#include "tools/infer/detections.h"

#include <algorithm>

#include "core/log.h"
#include "data/formats/labels.h"
#include "data/lmdb/dataset_names.h"
#include "tools/infer/class_names.h"
#include "tools/runs/kept_data.h"

namespace cortado::tools {

namespace {

std::map<int, std::string> names_in(const std::string& map) {
  log_info() << "class names are read from " << map;
  return data::shown_names(data::read_label_map(map));
}

}  // namespace

std::vector<Found> objects_in(const std::vector<float>& rows, float threshold) {
  std::vector<Found> found;
  for (size_t i = 0; i + kDetectionRow <= rows.size(); i += kDetectionRow) {
    const float* row = rows.data() + i;
    if (row[1] >= 0 && row[2] >= threshold && row[2] > 0)
      found.push_back({int(row[1]), row[2], clipped({row[3], row[4], row[5], row[6]})});
  }
  std::stable_sort(found.begin(), found.end(), [](const Found& a, const Found& b) { return a.score > b.score; });
  return found;
}

std::map<int, std::string> names_of_objects(const std::vector<std::string>& datasets) {
  for (const std::string& dataset : datasets)
    if (const std::string map = data::names_file_of(dataset, data::kLabelMapPart); !map.empty()) return names_in(map);
  return {};
}

std::map<int, std::string> detection_names(const Arguments& arguments, const std::optional<LikeNet>& like) {
  const std::string path = arguments.text("labels");
  if (path.ends_with(".prototxt") || path.ends_with(".pbtxt")) return data::shown_names(data::read_label_map(path));
  std::map<int, std::string> names;
  if (!path.empty()) {
    for (const std::string& name : data::read_labels(path)) names.emplace(int(names.size()), name);
    return names;
  }
  const std::string kept = runs::kept_names(arguments.text("model"), arguments.texts("weights"), data::kLabelMapPart);
  if (!kept.empty())
    names = names_in(kept);
  else if (like)
    names = names_of_objects(like->sources());
  if (names.empty()) note_no_names();
  return names;
}

}  // namespace cortado::tools
