#include "studio/look/trained_net.h"

#include <algorithm>

#include "net/inputs.h"
#include "proto/weights/weights_file.h"
#include "tools/infer/detections.h"
#include "tools/options/run_options.h"

namespace cortado::studio {

TrainedNet::TrainedNet(const tools::Arguments& arguments, Context& context)
    : state_(tools::state_of(arguments, caffe::TEST)), made_(tools::open_inference_net(arguments)) {
  graph::BuildOptions options;
  options.state = state_;
  options.backward = false;
  options.observed = true;
  net_ = make_net(made_.file, options, context);
  for (const std::string& path : arguments.texts("weights")) net_->load_weights(read_weights(path), path);
  observed_.emplace(*net_);
}

Shape TrainedNet::input_shape() const {
  const auto inputs = declared_inputs(*made_.file, state_);
  if (inputs.size() != 1)
    throw Error(ExitCode::kUsage,
                "the net has " + std::to_string(inputs.size()) + " inputs, but only one image is given");
  const Shape shape = inputs.begin()->second;
  if (shape.axes() != 4 || shape[0] != 1 || (shape[1] != 1 && shape[1] != 3))
    throw Error(ExitCode::kUsage, "the net's input of shape " + shape.str() + " is not an image");
  return shape;
}

void TrainedNet::run(const std::vector<float>& image) {
  observed_->write(declared_inputs(*made_.file, state_).begin()->first, BlobPart::kValues, image.data());
  observed_->forward(0, observed_->layers() - 1);
}

std::vector<float> TrainedNet::read(const std::string& blob) const {
  std::vector<float> values(size_t(shape_of(blob).count()));
  observed_->read(blob, BlobPart::kValues, values.data());
  return values;
}

std::string TrainedNet::output() const {
  const auto& outputs = net_->outputs();
  for (const NetOutput& one : outputs)
    if (one.name == "prob") return one.name;
  return outputs.size() == 1 ? outputs[0].name : "";
}

bool TrainedNet::finds_objects() const {
  if (output().empty()) return false;
  const Shape shape = shape_of(output());
  return shape.axes() > 1 && shape[shape.axes() - 1] == tools::kDetectionRow && shape[0] == 1;
}

bool TrainedNet::scores_classes() const {
  if (output().empty() || finds_objects()) return false;
  const Shape shape = shape_of(output());
  return shape.axes() > 1 && shape[0] == 1 && shape.count() == shape[1];
}

Json TrainedNet::blobs() const {
  Json list = Json::array();
  for (const std::string& blob : observed_->blobs()) {
    const caffe::LayerParameter* made = nullptr;
    for (const graph::SourceLayer& layer : net_->plan().graph.layers)
      if (!made && std::ranges::find(layer.config->top(), blob) != layer.config->top().end()) made = layer.config;
    list.push_back({{"name", blob},
                    {"layer", made ? made->name() : ""},
                    {"type", made ? made->type() : ""},
                    {"shape", shape_of(blob).dims()}});
  }
  return list;
}

Json TrainedNet::filters() const {
  Json list = Json::array();
  for (const graph::SourceLayer& layer : net_->plan().graph.layers) {
    if (layer.weights.empty()) continue;
    const graph::Weight& weight = net_->plan().graph.weight(layer.weights[0]);
    if (weight.spec.shape.axes() < 2) continue;
    list.push_back(
        {{"name", layer.config->name()}, {"type", layer.config->type()}, {"shape", weight.spec.shape.dims()}});
  }
  return list;
}

Json TrainedNet::filters_of(const std::string& name) const {
  for (const graph::SourceLayer& layer : net_->plan().graph.layers) {
    if (layer.config->name() != name || layer.weights.empty()) continue;
    const Shape& shape = net_->plan().graph.weight(layer.weights[0]).spec.shape;
    std::vector<float> values(size_t(shape.count()));
    net_->read_weight(layer.weights[0], values.data());
    return shown(name, shape, values, Kind::kFilters);
  }
  throw Error(ExitCode::kUsage, "unknown layer with weights '" + name + "'");
}

}  // namespace cortado::studio
