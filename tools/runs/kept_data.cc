#include "tools/runs/kept_data.h"

#include "core/error.h"
#include "core/files/file.h"
#include "core/log.h"
#include "data/lmdb/dataset_names.h"
#include "tools/runs/run_file.h"

namespace cortado::runs {

namespace {

data::DatasetNames names_in_dataset(const std::string& dataset) {
  try {
    return data::read_names(dataset);
  } catch (const Error& error) {
    log_warning() << "the run keeps no names of classes of " << dataset << ": " << error.mistakes().front().message;
    return {};
  }
}

}  // namespace

std::map<std::string, std::vector<int64_t>> input_shapes(const graph::Graph& graph) {
  std::map<std::string, std::vector<int64_t>> shapes;
  for (const graph::SourceLayer& layer : graph.layers) {
    if (layer.config->bottom_size() > 0) continue;
    for (const std::string& top : layer.config->top()) {
      const auto found = graph.names.find(top);
      if (found == graph.names.end()) continue;
      std::vector<int64_t> dims = graph.value(found->second).shape.dims();
      if (dims.empty()) continue;
      dims[0] = 1;
      shapes[top] = dims;
    }
  }
  return shapes;
}

std::map<std::string, Shape> kept_shapes(const std::string& model) {
  const RunPaths run(folder_of(model));
  std::map<std::string, Shape> shapes;
  if (!is_run(run.folder)) return shapes;
  try {
    for (const auto& [blob, dims] : read_record(run.record).shapes) shapes.emplace(blob, Shape(dims));
  } catch (const Error&) {  // a damaged record: the net's data may be there
  }
  return shapes;
}

void keep_names(const RunPaths& paths, const std::vector<InputFile>& inputs) {
  data::DatasetNames kept;
  for (const InputFile& input : inputs) {
    if (input.kind != "data") continue;
    const data::DatasetNames names = names_in_dataset(input.path);
    if (kept.labels.empty()) kept.labels = names.labels;
    if (kept.label_map.empty()) kept.label_map = names.label_map;
  }
  for (const char* part : {data::kLabelsPart, data::kLabelMapPart}) check_run_file(join_path(paths.folder, part));
  data::write_names(paths.folder, kept);
}

std::string kept_names(const std::string& model, const std::vector<std::string>& weights, const char* part) {
  std::vector<std::string> folders = {folder_of(model)};
  for (const std::string& file : weights)
    if (const RunPaths run(folder_of(folder_of(file))); run.snapshots == folder_of(file)) folders.push_back(run.folder);
  for (const std::string& folder : folders)
    if (const std::string file = join_path(folder, part); is_run(folder) && has_run_file(file)) return file;
  return "";
}

}  // namespace cortado::runs
