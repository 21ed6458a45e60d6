// VideoData: C3D's clips, N x 3 x L x H x W, and their labels. Each line of a list has a folder of frames (000001.jpg
// and so on) or, with use_image: false, a video file; the first frame, from 0 in a video; and a label. A clip is every
// sampling_rate-th frame, new_length of them. use_temporal_jitter draws the first frame of a video. All frames of a
// clip have the same crop and mirroring. A mean file has 3 or 3 L channels; one with 3 is used for each frame.
//
// With num_segments, modality or name_pattern it has the clips of TSN (Wang et al. 2016): lines have a folder, its
// number of frames D and a label. The folder is divided into S segments of D / S frames. From each come new_length
// consecutive frames: in training from a random position, in testing from the middle. y is N x C x H x W. Its channels
// are those of all frames in order: blue, green and red for RGB (image_0001.jpg and so on), C = 3 S L; two grey images
// for FLOW (flow_x_0001.jpg, flow_y_0001.jpg), C = 2 S L.

#include "data/pipeline/pipeline_options.h"
#include "data/sources/clip_source.h"
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
    if (s.axes() == 4 && !data::has_segments(param_))
      shapes.y[0] = Shape{s[0], kVideoDataColors, s[1] / kVideoDataColors, s[2], s[3]};
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
    const bool flow = data::has_segments(param_) && param_.modality() == caffe::VideoDataParameter::FLOW;
    const int64_t channels = (flow ? 2 : kVideoDataColors) * int64_t(param_.new_length()) * param_.num_segments(),
                  batch = options().batch_size;
    if (plan.crop_h > 0) return {batch, channels, plan.crop_h, plan.crop_w};
    if (param_.new_height() == 0) return {-1};
    return {batch, channels, param_.new_height(), param_.new_width()};
  }

  const caffe::VideoDataParameter& param_;
  bool labelled_;
  Shape as_images_;  ///< the pipeline reads a clip as an image
};

const RegisterLayer register_video_data({
    .name = "VideoData",
    .help = "clips of frames or videos from a list, and their labels (C3D, TSN)",
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
