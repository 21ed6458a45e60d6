// VideoWithVoxelTruthData (C3D): volumes and the truth for each voxel, such as optical flow, N x T x L x H x W
// (layers/common/data/volume_data.h).

#include "layers/common/data/volume_data.h"
#include "layers/registry.h"

namespace cortado {

namespace {

std::unique_ptr<Layer> make_video_with_voxel_truth_data(const LayerOptions& options) {
  const caffe::ImageDataParameter& param = options.config.image_data_param();
  return std::make_unique<VolumeDataLayer>(options, VoxelTruth{.channels = int64_t(param.num_truth_channels()),
                                                               .scale = param.truth_scale(),
                                                               .is_flow = param.is_flow(),
                                                               .clips = param.has_clip_min(),
                                                               .clip_min = param.clip_min(),
                                                               .clip_max = param.clip_max(),
                                                               .bytes = param.use_byte_input()});
}

const RegisterLayer register_video_with_voxel_truth_data({
    .name = "VideoWithVoxelTruthData",
    .help = "volumes from files, and the truth for each voxel, such as optical flow (C3D)",
    .options = "image_data_param",
    .min_bottoms = 0,
    .max_bottoms = 0,
    .min_tops = 2,
    .max_tops = 2,
    .make = make_video_with_voxel_truth_data,
    .kind = LayerKind::kData,
});

}  // namespace

}  // namespace cortado
