#include "tools/class_names.h"

#include <filesystem>

#include "core/error.h"
#include "core/file.h"
#include "data/convert.h"
#include "data/labels.h"

namespace cortado::tools {

namespace {

std::string source_of(const caffe::LayerParameter& layer) {
  if (layer.has_data_param()) return layer.data_param().source();
  if (layer.has_image_data_param()) return layer.image_data_param().source();
  if (layer.has_window_data_param()) return layer.window_data_param().source();
  return layer.hdf5_data_param().source();
}

std::vector<std::string> names_beside(std::string source, int64_t classes) {
  while (source.size() > 1 && source.back() == '/') source.pop_back();
  for (const std::string& path : {data::labels_file_of(source), join_path(folder_of(source), "labels.txt")}) {
    std::error_code none;
    if (!std::filesystem::is_regular_file(path, none)) continue;
    try {
      std::vector<std::string> names = data::read_labels(path);
      if (int64_t(names.size()) == classes) return names;
    } catch (const Error&) {  // nobody said that it holds names
    }
  }
  return {};
}

}  // namespace

std::vector<std::string> class_names(const std::string& path, const graph::Graph& graph, int64_t classes) {
  if (!path.empty()) {
    std::vector<std::string> names = data::read_labels(path);
    if (int64_t(names.size()) < classes)
      throw Error(ExitCode::kData, path + " has " + std::to_string(names.size()) + " names, the net " +
                                       std::to_string(classes) + " classes");
    return names;
  }
  for (const graph::SourceLayer& layer : graph.layers) {
    const std::string source = layer.config->bottom_size() == 0 ? source_of(*layer.config) : "";
    if (source.empty()) continue;
    if (std::vector<std::string> names = names_beside(source, classes); !names.empty()) return names;
  }
  return {};
}

}  // namespace cortado::tools
