#include "core/log.h"
#include "formats/hdf5_file.h"
#include "proto/weights/solver_state_hdf5.h"
#include "proto/weights/weights_hdf5.h"
#include "solvers/snapshot.h"

namespace cortado {

namespace {

/// A shared weight is written for every layer that uses it, as in .caffemodel files, because another net may lack its
/// owner.
std::vector<TensorEntry> entries_of(const graph::Graph& graph, bool with_diffs) {
  std::vector<TensorEntry> entries;
  for (const graph::SourceLayer& layer : graph.layers)
    for (size_t k = 0; k < layer.weights.size(); ++k) {
      const Shape& shape = graph.weight(layer.weights[k]).spec.shape;
      entries.push_back(hdf5_blob("data", layer.config->name(), k, shape));
      if (with_diffs) entries.push_back(hdf5_blob("diff", layer.config->name(), k, shape));
    }
  return entries;
}

template <typename Values>
void add(Hdf5Writer& writer, const Values& values) {
  writer.add(values.data(), size_t(values.size()) * sizeof(float));
}

}  // namespace

void check_hdf5_snapshot(const std::string& path, const Net& net) {
  check_hdf5_names(path, entries_of(net.plan().graph, false));
}

std::string write_net_hdf5(const std::string& path, Net& net, bool with_diffs, Numbers allowed) {
  log_info() << "Snapshotting to HDF5 file " << path;
  const graph::Graph& graph = net.plan().graph;
  Hdf5Writer writer(path, entries_of(graph, with_diffs));
  for (size_t i = 0; i < graph.layers.size(); ++i) {
    caffe::LayerParameter layer;
    net.layer_to_proto(i, layer, with_diffs);
    if (allowed == Numbers::kFinite) check_finite(layer);
    for (int k = 0; k < layer.blobs_size(); ++k) {
      caffe::BlobProto& blob = *layer.mutable_blobs(k);
      add(writer, blob.data());
      if (with_diffs) blob.mutable_diff()->Resize(blob.data_size(), 0);
      if (with_diffs) add(writer, blob.diff());
    }
  }
  return writer.commit();
}

void write_state_hdf5(const std::string& path, const WeightUpdate& update, caffe::SolverState head) {
  log_info() << "Snapshotting solver state to HDF5 file " << path;
  std::vector<Shape> shapes;
  for (size_t i = 0; i < update.history_blobs(); ++i) shapes.push_back(update.history_shape(i));
  SolverStateHdf5Writer writer(path, std::move(head), shapes);
  for (size_t i = 0; i < shapes.size(); ++i) {
    caffe::BlobProto blob;
    update.save(i, blob);
    writer.add_history(blob);
  }
  writer.commit();
}

}  // namespace cortado
