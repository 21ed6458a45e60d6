#include "tools/infer/class_names.h"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <filesystem>

#include "core/error.h"
#include "core/files/file.h"
#include "core/log.h"
#include "data/formats/labels.h"
#include "data/lmdb/dataset_names.h"
#include "tools/runs/kept_data.h"

namespace cortado::tools {

namespace {

std::string source_of(const caffe::LayerParameter& layer) {
  if (layer.has_data_param()) return layer.data_param().source();
  if (layer.has_image_data_param()) return layer.image_data_param().source();
  if (layer.has_window_data_param()) return layer.window_data_param().source();
  return layer.hdf5_data_param().source();
}

std::vector<std::string> names_from_file(const std::string& path, int64_t classes) {
  std::vector<std::string> names = data::read_labels(path);
  if (int64_t(names.size()) >= classes) return names;
  throw Error(ExitCode::kData, path + " has " + std::to_string(names.size()) + " names, but the net has " +
                                   std::to_string(classes) + " classes");
}

/// The names of the first file with a name for each class. Sets `found` to its path.
std::vector<std::string> names_found(const std::vector<std::string>& paths, int64_t classes, std::string& found) {
  for (const std::string& path : paths) {
    std::error_code none;
    if (!std::filesystem::is_regular_file(path, none)) continue;
    try {
      std::vector<std::string> names = data::read_labels(path);
      if (int64_t(names.size()) != classes) continue;
      found = path;
      return names;
    } catch (const Error&) {  // the file may have other content
    }
  }
  return {};
}

}  // namespace

std::vector<std::string> class_names(const std::string& path, const graph::Graph& graph, int64_t classes) {
  if (!path.empty()) return names_from_file(path, classes);
  std::string found;
  for (const graph::SourceLayer& layer : graph.layers) {
    const std::string source = layer.config->bottom_size() == 0 ? source_of(*layer.config) : "";
    if (source.empty()) continue;
    if (std::vector<std::string> names = names_found(data::names_files(source, data::kLabelsPart), classes, found);
        !names.empty())
      return names;
  }
  return {};
}

void note_no_names() { log_info() << "the classes have no names: they are shown by number; --labels=FILE names them"; }

std::vector<std::string> class_names(const Arguments& arguments, const std::optional<LikeNet>& like, int64_t classes) {
  const std::string path = arguments.text("labels"), model = arguments.text("model");
  if (!path.empty()) return names_from_file(path, classes);
  std::vector<std::string> likely = {runs::kept_names(model, arguments.texts("weights"), data::kLabelsPart)};
  for (const std::string& source : like ? like->sources() : std::vector<std::string>())
    for (const std::string& file : data::names_files(source, data::kLabelsPart)) likely.push_back(file);
  likely.push_back(join_path(folder_of(model), data::kLabelsPart));
  std::string found;
  std::vector<std::string> names = names_found(likely, classes, found);
  if (names.empty())
    note_no_names();
  else
    log_info() << "class names are read from " << found;
  return names;
}

bool is_distribution(const float* values, size_t count) {
  double sum = 0;
  for (size_t i = 0; i < count; ++i) {
    if (!(values[i] >= 0)) return false;
    sum += double(values[i]);
  }
  return std::fabs(sum - 1) < 1e-3;
}

std::vector<double> softmax(const float* values, size_t count) {
  const double most = double(*std::max_element(values, values + count));
  std::vector<double> out(count);
  double sum = 0;
  for (size_t i = 0; i < count; ++i) sum += out[i] = std::exp(double(values[i]) - most);
  for (double& value : out) value /= sum;
  return out;
}

std::vector<Guess> best(const std::vector<double>& probabilities, size_t top) {
  std::vector<Guess> guesses;
  for (size_t i = 0; i < probabilities.size(); ++i) guesses.push_back({int(i), probabilities[i]});
  top = std::min(top, guesses.size());
  std::partial_sort(guesses.begin(), guesses.begin() + int64_t(top), guesses.end(), [](const Guess& a, const Guess& b) {
    return a.probability != b.probability ? a.probability > b.probability : a.label < b.label;
  });
  guesses.resize(top);
  return guesses;
}

}  // namespace cortado::tools
