#include "data/formats/label_map.h"

#include <set>

#include "core/files/file.h"
#include "core/files/file_error.h"
#include "data/formats/printable.h"
#include "proto/files/read_text.h"

namespace cortado::data {

caffe::LabelMap read_label_map(const std::string& path) {
  caffe::LabelMap map;
  read_message_from_text(read_file(path, int64_t(1) << 26), path, map);
  std::set<std::string> names;
  std::set<int32_t> labels;
  for (const caffe::LabelMapItem& item : map.item()) {
    if (!names.insert(item.name()).second)
      throw file_error(ExitCode::kData, path, "two classes are called '" + printable(item.name()) + "'");
    if (!labels.insert(item.label()).second)
      throw file_error(ExitCode::kData, path, "two classes have the label " + std::to_string(item.label()));
  }
  return map;
}

std::map<int32_t, std::string> shown_names(const caffe::LabelMap& map) {
  std::map<int32_t, std::string> names;
  for (const caffe::LabelMapItem& item : map.item())
    names[item.label()] = item.display_name().empty() ? item.name() : item.display_name();
  return names;
}

}  // namespace cortado::data
