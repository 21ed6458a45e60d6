#pragma once

#include <map>
#include <set>
#include <string>
#include <vector>

#include "graph/dialect/batches.h"
#include "graph/dialect/job.h"
#include "layers/layer.h"

namespace cortado::dialect {

/// The state of one rewriting: the new net, and the shapes of its blobs.
class Rewriter {
 public:
  /// The subject has `batch.times` its own batch.
  Rewriter(const Subject& subject, Target target, const PlaceOf& place_of, const BatchOf& batch);

  Rewritten run();

  // For Job.
  std::vector<Blob> emit(const Job& job, caffe::LayerParameter layer, const std::vector<Blob>& bottoms, int tops,
                         NewWeights weights);
  Target target() const { return target_; }
  bool trains() const { return trains_; }
  const BatchOf& batch() const { return batch_; }
  /// The axis of a blob that grows with the batch; 0 if none is known to.
  int batch_axis(const std::string& blob) const;
  void warn(const std::string& layer, const std::string& text);

 private:
  void take(int index);
  void keep(caffe::LayerParameter layer);
  void compose(caffe::LayerParameter source, int index, const std::string& lacks);
  bool resizes_height(int index) const;
  bool is_read_once(const std::string& blob) const;
  void compose_height(int index);
  void add_weights(caffe::LayerParameter& layer, const std::vector<WeightSpec>& specs, NewWeights weights);
  caffe::LayerParameter with_new_names(caffe::LayerParameter layer) const;
  Blob composed(const caffe::LayerParameter& layer, std::vector<Blob> x, std::vector<Shape> y,
                const std::vector<BlobFile>* weights, const std::string& lacks);
  void finish(const caffe::LayerParameter& source, const Blob& result, int first);
  void make_room_for_top(caffe::LayerParameter& layer);
  void refuse(int index, const std::string& lacks, const FieldError& error);

  std::string lacking(caffe::LayerParameter& layer, const std::vector<Shape>* x, bool has_weights) const;
  std::string reason_of(const caffe::LayerParameter& layer, const std::string& lacks) const;
  bool shapes_known(const caffe::LayerParameter& layer) const;
  std::vector<Blob> bottoms_of(const caffe::LayerParameter& layer) const;
  void learn_shapes(const caffe::LayerParameter& layer);
  void learn_grown_shapes(const caffe::LayerParameter& layer);
  const std::vector<BlobFile>* weights_of(const std::string& layer) const;
  std::string unused(std::set<std::string>& names, const std::string& base);
  void append(caffe::LayerParameter layer);
  void rename_blob(const std::string& from, const std::string& to);

  const Subject& subject_;
  const Target target_;
  const PlaceOf& place_of_;
  const BatchOf batch_;
  std::map<std::string, const LayerWeights*> given_;
  std::map<std::string, std::vector<BlobFile>> made_;  ///< weights of new layers
  std::map<std::string, Shape> shapes_;                ///< those that are known, by the blob's current name
  std::map<std::string, Shape> grown_;                 ///< the same for a batch twice as large
  std::map<std::string, std::string> renamed_;         ///< blobs of the subject whose later value has another name
  std::set<std::string> blobs_, layers_;               ///< names in use
  std::map<std::string, int> tried_;                   ///< suffixes, by name
  std::map<std::string, std::vector<int>> uses_;       ///< new layers that read or compute a blob
  std::set<std::string> sources_;                      ///< blobs of layers without bottoms
  int64_t values_ = 0;                                 ///< of new weights
  std::map<std::string, int> readers_;                 ///< of the subject's blobs
  bool trains_ = false;                                ///< a layer is a loss
  Mistakes mistakes_;
  Rewritten result_;
};

}  // namespace cortado::dialect
