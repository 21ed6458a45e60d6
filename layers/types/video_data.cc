// VideoData: C3D's clips, N x 3 x L x H x W, and their labels. Each line of a list has a folder of frames (000001.jpg
// and so on), the first frame and a label. A clip is every sampling_rate-th frame, new_length of them. All frames of a
// clip have the same crop and mirroring. A mean file has 3 or 3 L channels; one with 3 is used for each frame. Video
// files are not supported.

#include "data/pipeline/pipeline_options.h"
#include "layers/common/data/data_layer.h"
#include "layers/registry.h"

namespace cortado {

namespace {

constexpr int kVideoDataColors = 3;

class VideoDataLayer : public PipelineLayer {
 public:
  explicit VideoDataLayer(const LayerOptions& options)
      : PipelineLayer(options), param_(options.config.video_data_param()), labelled_(options.config.top_size() > 1) {}

  LayerShapes infer(const std::vector<Shape>& x) override {
    LayerShapes shapes = PipelineLayer::infer(x);
    as_images_ = shapes.y[0];
    const Shape& s = as_images_;
    if (s.axes() == 4) shapes.y[0] = Shape{s[0], kVideoDataColors, s[1] / kVideoDataColors, s[2], s[3]};
    return shapes;
  }

  void forward(Context& context, const Operands& io) override {
    Tensor images = io.y[0];
    images.spec.shape = as_images_;
    open()->read(context, images, labelled_ ? io.y[1] : Tensor());
  }

 private:
  Shape shape_without_data() const override {
    const data::TransformPlan& plan = options().transform;
    const int64_t channels = kVideoDataColors * int64_t(param_.new_length()), batch = options().batch_size;
    if (plan.crop_h > 0) return {batch, channels, plan.crop_h, plan.crop_w};
    if (param_.new_height() == 0) return {-1};
    return {batch, channels, param_.new_height(), param_.new_width()};
  }

  const caffe::VideoDataParameter& param_;
  bool labelled_;
  Shape as_images_;  ///< the pipeline reads a clip as an image of 3 L channels
};

const RegisterLayer register_video_data({
    .name = "VideoData",
    .help = "clips of frames from a list, and their labels",
    .options = "video_data_param",
    .min_bottoms = 0,
    .max_bottoms = 0,
    .min_tops = 1,
    .max_tops = 2,
    .make = make_layer<VideoDataLayer>,
    .kind = LayerKind::kData,
    .pipeline = data::make_clip_options,
});

}  // namespace

}  // namespace cortado
