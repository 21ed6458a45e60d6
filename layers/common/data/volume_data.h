#pragma once

// The base of C3D's VideoWithVoxelTruthData and VideoSegmentationData: volumes, N x C x L x H x W, and the truth for
// each voxel as the second top, N x T x L x H x W. Each file of a list has both: the truth is its last T channels.
//
//   data = scale (v - mean)      truth = truth_scale v, or with clip_min: (v - clip_min) / (clip_max - clip_min) in [0,
//   1]
//
// Both are cropped alike, at random in training and centrally otherwise, and mirrored alike. With `is_flow`, mirroring
// negates the first channel of the truth, which is the motion along the width. C3D scales the truth only if it crops.
// Draws are a function of (seed, position). forward() reads the files itself.

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/device/host_view.h"
#include "data/formats/mean_file.h"
#include "data/formats/volume_file.h"
#include "data/shuffled_order.h"
#include "data/sources/list_file.h"
#include "layers/common/data/record_layer.h"

namespace cortado {

/// What the truth is.
struct VoxelTruth {
  int64_t channels = 1;
  float scale = 1;
  bool is_flow = false, clips = false;
  float clip_min = 0, clip_max = 1;
  bool bytes = true;  ///< the values in files are bytes
};

class VolumeDataLayer : public RecordLayer {
 public:
  /// Throws FieldError.
  VolumeDataLayer(const LayerOptions& options, const VoxelTruth& truth);

  LayerShapes infer(const std::vector<Shape>& x) override;
  StorageRule storage(const kernels::PostOps&) const override { return {.type = TypeRule::kMakes}; }
  LayerNeeds prepare(const PrepareRequest&, Context&) override { return {}; }
  void forward(Context& context, const Operands& io) override;

 private:
  /// A part of a volume.
  struct Part {
    int64_t top, left;
    bool mirrored;
  };

  void check_options() const;
  void open();
  void read(uint64_t place);
  void check_mean() const;
  Part draw_part(uint64_t place) const;
  void write_image(const Part& part, float* to) const;
  void write_truth(const Part& part, float* to) const;
  template <typename Value>
  float* write_channel(int64_t channel, const Part& part, float* to, const Value& value) const;

  const caffe::ImageDataParameter& param_;
  const caffe::TransformationParameter& transform_;
  VoxelTruth truth_;
  bool open_data_, training_;
  uint64_t seed_;
  std::vector<std::string_view> paths_;
  std::optional<data::ListFile> list_;
  std::optional<data::ShuffledOrder> order_;
  std::shared_ptr<const data::MeanImage> mean_;
  uint64_t skipped_ = 0;
  data::Volume first_, volume_;
  int64_t height_ = 0, width_ = 0;  ///< of the part
  HostStage image_of_, truth_of_;
};

}  // namespace cortado
