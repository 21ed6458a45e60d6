// VideoSegmentationData (C3D): volumes and a class for each voxel, N x 1 x L x H x W
// (layers/common/data/volume_data.h). Files have bytes; the class is their last channel.

#include "layers/common/data/volume_data.h"
#include "layers/registry.h"

namespace cortado {

namespace {

std::unique_ptr<Layer> make_video_segmentation_data(const LayerOptions& options) {
  return std::make_unique<VolumeDataLayer>(options, VoxelTruth());
}

const RegisterLayer register_video_segmentation_data({
    .name = "VideoSegmentationData",
    .help = "volumes from files, and a class for each voxel (C3D)",
    .options = "image_data_param",
    .min_bottoms = 0,
    .max_bottoms = 0,
    .min_tops = 2,
    .max_tops = 2,
    .make = make_video_segmentation_data,
    .kind = LayerKind::kData,
});

}  // namespace

}  // namespace cortado
