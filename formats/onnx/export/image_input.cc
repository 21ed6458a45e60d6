#include "onnx/export/image_input.h"

#include "core/error.h"
#include "graph/graph.h"
#include "proto/files/read_text.h"
#include "proto/weights/weights_file.h"

namespace cortado::exporting {

namespace {

/// The center crop of the mean image, as in phase TEST, or one value per channel: a constant that broadcasts over x.
std::string mean_of(GraphWriter& graph, const ImageInput& image, const Shape& x) {
  const auto& transform = image.transform;
  if (!transform.has_mean_file()) {
    std::vector<float> values(transform.mean_value().begin(), transform.mean_value().end());
    if (values.size() != 1 && int64_t(values.size()) != x[1])
      throw file_error(ExitCode::kData, image.file,
                       std::to_string(values.size()) + " mean values, but the net's input has " + std::to_string(x[1]) +
                           " channels");
    return graph.floats("mean", {int64_t(values.size()), 1, 1}, values);
  }
  const BlobFile mean = read_blob_file(transform.mean_file());
  const int axes = mean.shape.axes();
  const bool fits = axes >= 3 && mean.shape.count(0, axes - 2) == x[1] && mean.shape[axes - 2] >= x[2] &&
                    mean.shape[axes - 1] >= x[3];
  if (!fits)
    throw file_error(ExitCode::kData, transform.mean_file(),
                     "a mean image of " + mean.shape.str() + ", but the net's input is " + x.str());
  const int64_t height = mean.shape[axes - 2], width = mean.shape[axes - 1];
  const int64_t top = (height - x[2]) / 2, left = (width - x[3]) / 2;
  std::vector<float> middle;
  for (int64_t c = 0; c < x[1]; ++c)
    for (int64_t h = 0; h < x[2]; ++h) {
      const auto row = mean.data.begin() + (c * height + top + h) * width + left;
      middle.insert(middle.end(), row, row + x[3]);
    }
  return graph.floats("mean", {x[1], x[2], x[3]}, middle);
}

/// Reverses the three channels.
void write_exchange(GraphWriter& graph, const std::string& x, const std::string& y) {
  std::vector<std::string> parts;
  for (int i = 0; i < 3; ++i) parts.push_back(graph.value_name("channel" + std::to_string(i)));
  graph.add_node("channels", {"Split", {x}, {{"axis", int64_t(1)}}}, parts);
  graph.add_node("exchanged", {"Concat", {parts[2], parts[1], parts[0]}, {{"axis", int64_t(1)}}}, {y});
}

}  // namespace

ImageInput read_image_input(const std::string& path, bool rgb) {
  const NetFile file = read_net(path);
  caffe::NetState test;
  test.set_phase(caffe::TEST);
  const caffe::NetState state = graph::merge_states(file.net.state(), test);
  for (const caffe::LayerParameter& layer : file.net.layer())
    if (layer.bottom_size() == 0 && layer.has_transform_param() && graph::selected(layer, state))
      return {path, layer.transform_param(), rgb};
  throw Error(ExitCode::kUsage, path + ": no data layer of phase TEST has a transform_param",
              "set --like to the net whose data layer preprocesses the images, for example train_val.prototxt");
}

void write_image_input(GraphWriter& graph, const ImageInput& image, const Shape& shape, const std::string& input,
                       const std::string& result) {
  const auto& transform = image.transform;
  if (shape.axes() != 4)
    throw Error(ExitCode::kUsage, "--like requires images, but the net's input has shape " + shape.str());
  if (image.rgb && shape[1] != 3)
    throw Error(ExitCode::kUsage,
                "--rgb requires images with three channels, but the net's input has shape " + shape.str());
  std::vector<Operation> steps;
  if (image.rgb != transform.bgr2rgb()) steps.push_back({"", {""}});
  if (transform.has_mean_file() || transform.mean_value_size() > 0)
    steps.push_back({"Sub", {"", mean_of(graph, image, shape)}});
  if (transform.scale() != 1) {
    const float scale = transform.scale();
    steps.push_back({"Mul", {"", graph.floats("scale", {}, {&scale, 1})}});
  }
  if (steps.empty()) steps.push_back({"Identity", {""}});
  std::string x = input;
  for (size_t i = 0; i < steps.size(); ++i) {
    const std::string y = i + 1 == steps.size() ? result : graph.value_name("prepared");
    steps[i].inputs[0] = x;
    if (steps[i].op.empty())
      write_exchange(graph, x, y);
    else
      graph.add_node("prepare", steps[i], {y});
    x = y;
  }
}

}  // namespace cortado::exporting
