// AnnotatedData: images and the objects in them, from a database of AnnotatedDatums. The second top is 1 x 1 x rows x 8
// (layers/common/detection/ground_truth.h). In Caffe the number of rows is that of the batch's objects. Here it is the
// maximum for a batch; unused rows are -1, which the layers that read objects skip.
//
// transform_param transforms boxes with the pixels. In training the samplers of annotated_data_param select the crop.
//
// A third top (MobileNet-YOLO) is maps of the label images in the records (Datum's seg_label), N x C x h x w: 1 where a
// pixel has class c, else 0. label_map_file assigns pixel values to classes: items { label_id: VALUE label: CLASS }.
// Without such items there is one map, the value / 255. h and w are those of the image divided by seg_scales, or
// seg_resize_height and seg_resize_width. Each position has the label at its centre; positions outside of the image
// have none.

#include "core/device/host_view.h"
#include "core/error.h"
#include "data/formats/labels.h"
#include "data/lmdb/lmdb.h"
#include "data/pipeline/pipeline_options.h"
#include "data/sources/lmdb_source.h"
#include "layers/common/data/data_layer.h"
#include "layers/common/detection/ground_truth.h"
#include "layers/registry.h"

namespace cortado {

namespace {

class AnnotatedDataLayer : public PipelineLayer {
 public:
  explicit AnnotatedDataLayer(const LayerOptions& options)
      : PipelineLayer(options),
        open_(options.open_data),
        gray_(options.config.transform_param().force_gray()),
        one_class_(options.config.annotated_data_param().single_class()),
        label_map_file_(options.config.annotated_data_param().label_map_file()) {}

  LayerShapes infer(const std::vector<Shape>& x) override {
    LayerShapes shapes = PipelineLayer::infer(x);
    if (this->options().label_map.on) shapes.y.push_back(map_shape(shapes.y[0]));
    if (shapes.y.size() == 1) return shapes;
    if (open_ && rows_ == 0)
      rows_ = std::max<int64_t>(1, data::most_objects(data::Lmdb::open(options().source), options().skip_bad > 0)) *
              options().batch_size;
    shapes.y[1] = open_ ? Shape{1, 1, rows_, kTruthWidth} : Shape{-1};
    return shapes;
  }

  StorageRule storage(const kernels::PostOps&) const override { return {.type = TypeRule::kMakes}; }

  void forward(Context& context, const Operands& io) override {
    read(context, io.y[0], Tensor());
    if (io.y.size() < 2) return;
    float* to = rows_of_.begin(context, io.y[1].f32(), rows_ * kTruthWidth);
    std::fill_n(to, rows_ * kTruthWidth, -1.f);
    const std::vector<std::vector<data::Object>>& objects = this->objects();
    for (size_t item = 0; item < objects.size(); ++item)
      for (const data::Object& object : objects[item]) {
        const float row[] = {float(item),
                             float(one_class_ ? 1 : object.label),
                             float(object.instance),
                             object.box.x0,
                             object.box.y0,
                             object.box.x1,
                             object.box.y1,
                             float(object.difficult)};
        to = std::copy_n(row, kTruthWidth, to);
      }
    rows_of_.commit(context);
    if (io.y.size() > 2) write_maps(context, io.y[2]);
  }

 private:
  Shape map_shape(const Shape& image) {
    const data::LabelMapPlan& plan = options().label_map;
    if (!open_ || image.axes() != 4) return {-1};
    if (!label_map_file_.empty()) classes_ = data::read_pixel_classes(label_map_file_);
    const Shape shape{image[0], std::max(1, classes_.count), plan.rows(image[2]), plan.columns(image[3])};
    if (shape.count() == 0)
      throw FieldError("annotated_data_param.seg_scales",
                       "images of " + std::to_string(image[2]) + "x" + std::to_string(image[3]) + " divided by " +
                           std::to_string(plan.divisor) + " are empty",
                       "set a smaller number");
    return shape;
  }

  void write_maps(Context& context, const Tensor& y) {
    constexpr float kWhite = 255;
    const Shape& shape = y.shape();
    const size_t classes = size_t(shape[1]), places = size_t(shape[2] * shape[3]);
    float* to = maps_of_.begin(context, y.f32(), shape.count());
    std::fill_n(to, shape.count(), 0.f);
    for (size_t item = 0; item < label_maps().size(); ++item)
      for (size_t i = 0; i < places; ++i) {
        const int16_t label = label_maps()[item][i];
        if (label == data::kNoLabel) continue;
        float* of_item = to + item * classes * places + i;
        if (classes_.count == 0) {
          *of_item = float(label) / kWhite;
        } else if (const int c = classes_.of[size_t(label)]; c >= 0) {
          of_item[size_t(c) * places] = 1;
        }
      }
    maps_of_.commit(context);
  }

  Shape shape_without_data() const override {
    const data::TransformPlan& plan = options().transform;
    const data::ResizePlan& resize = plan.augment.resize;
    const bool fixed = resize.fit == data::Fit::kWarp || resize.fit == data::Fit::kPad;
    const int height = plan.crop_h > 0 ? plan.crop_h : fixed ? resize.height : 0;
    const int width = plan.crop_w > 0 ? plan.crop_w : fixed ? resize.width : 0;
    return height > 0 && width > 0 ? Shape{options().batch_size, gray_ ? 1 : 3, height, width} : Shape{-1};
  }

  bool open_, gray_, one_class_;
  std::string label_map_file_;
  data::PixelClasses classes_;
  int64_t rows_ = 0;  ///< the maximum for a batch
  HostStage rows_of_, maps_of_;
};

const RegisterLayer register_annotated_data({
    .name = "AnnotatedData",
    .help = "images and their annotated objects, from a dataset (LMDB); as a third top maps of labels (MobileNet-YOLO)",
    .options = "annotated_data_param",
    .min_bottoms = 0,
    .max_bottoms = 0,
    .min_tops = 1,
    .max_tops = 3,
    .make = make_layer<AnnotatedDataLayer>,
    .kind = LayerKind::kData,
    .pipeline = data::make_annotated_options,
    .brings_objects = true,
    .batch_fields = {"data_param.batch_size"},
});

}  // namespace

}  // namespace cortado
