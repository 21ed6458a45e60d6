#include "data/inspect/class_names.h"

#include "data/formats/label_map.h"
#include "data/formats/labels.h"
#include "data/formats/printable.h"
#include "data/lmdb/dataset_names.h"

namespace cortado::data {

namespace {

const char* names_part(bool objects) { return objects ? kLabelMapPart : kLabelsPart; }

std::map<int32_t, std::string> names_in_file(const std::string& file, bool objects) {
  std::map<int32_t, std::string> names;
  if (file.empty()) return names;
  if (objects) return shown_names(read_label_map(file));
  for (const std::string& name : read_labels(file)) names.emplace(int32_t(names.size()), name);
  return names;
}

}  // namespace

std::map<int32_t, std::string> class_names_of(const std::string& dataset, bool objects) {
  return names_in_file(names_file_of(dataset, names_part(objects)), objects);
}

std::string names_conflict(const std::string& one, const std::string& other) {
  for (const bool objects : {false, true}) {
    const auto names = names_in_file(own_names_file_of(one, names_part(objects)), objects);
    const auto others = names_in_file(own_names_file_of(other, names_part(objects)), objects);
    for (const auto& [label, name] : names) {
      const auto found = others.find(label);
      if (found == others.end() || found->second == name) continue;
      return "label " + std::to_string(label) + " is '" + printable(name) + "' in " + one + " and '" +
             printable(found->second) + "' in " + other;
    }
  }
  return "";
}

}  // namespace cortado::data
