#include "tools/dataset_warnings.h"

#include "core/file.h"

namespace cortado::tools {

namespace {

bool names_leveldb(const caffe::LayerParameter& layer) {
  if (layer.type() != "Data" || layer.data_param().backend() != caffe::DataParameter::LEVELDB) return false;
  const std::string& source = layer.data_param().source();
  const bool is_lmdb = file_exists(join_path(source, "data.mdb")) || source.ends_with(".mdb");
  return !source.empty() && !is_lmdb;
}

}  // namespace

std::vector<Mistake> leveldb_warnings(const graph::Graph& graph) {
  std::vector<Mistake> warnings;
  for (size_t i = 0; i < graph.layers.size(); ++i) {
    const caffe::LayerParameter& layer = *graph.layers[i].config;
    if (!names_leveldb(layer)) continue;
    const std::string field = layer.data_param().has_backend() ? "data_param.backend" : "data_param.source";
    Mistake warning;
    warning.place = graph.place_of_layer(int(i), field);
    warning.message =
        "layer '" + layer.name() + "' (Data): " +
        (layer.data_param().has_backend() ? "the backend is LevelDB" : "without `backend` this is a LevelDB") +
        ", and only LMDB is read";
    warning.hint = "`cortado convert leveldb` makes an LMDB of it; where '" + layer.data_param().source() +
                   "' holds a data.mdb, that is read whatever `backend` says";
    warnings.push_back(std::move(warning));
  }
  return warnings;
}

}  // namespace cortado::tools
