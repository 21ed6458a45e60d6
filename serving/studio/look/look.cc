#include "studio/look/look.h"

#include <algorithm>
#include <cmath>
#include <iostream>
#include <nlohmann/json.hpp>

#include "core/text/json.h"
#include "core/text/text.h"
#include "data/sources/prepare_image.h"
#include "net/inputs.h"
#include "net/observed_net.h"
#include "proto/weights/weights_file.h"
#include "studio/look/tiles.h"
#include "tools/infer/class_names.h"
#include "tools/infer/image_input.h"
#include "tools/options/inference_net.h"
#include "tools/options/like_net.h"
#include "tools/options/run_options.h"

namespace cortado::studio {

namespace {

using tools::Arguments;

class LookedAt {
 public:
  LookedAt(const Arguments& arguments, Context& context)
      : state_(tools::state_of(arguments, caffe::TEST)), made_(tools::open_inference_net(arguments)) {
    graph::BuildOptions options;
    options.state = state_;
    options.backward = false;
    options.observed = true;
    net_ = make_net(made_.file, options, context);
    for (const std::string& path : arguments.texts("weights")) net_->load_weights(read_weights(path), path);
    observed_.emplace(*net_);
  }

  Net& net() { return *net_; }
  const tools::InferenceNet& inference_net() const { return made_; }

  const Shape input_shape() const {
    const auto inputs = declared_inputs(*made_.file, state_);
    if (inputs.size() != 1)
      throw Error(ExitCode::kUsage,
                  "the net has " + std::to_string(inputs.size()) + " inputs, but only one image is given");
    const Shape shape = inputs.begin()->second;
    if (shape.axes() != 4 || shape[0] != 1 || (shape[1] != 1 && shape[1] != 3))
      throw Error(ExitCode::kUsage, "the net's input of shape " + shape.str() + " is not an image");
    return shape;
  }

  void run(const std::vector<float>& image) {
    observed_->write(declared_inputs(*made_.file, state_).begin()->first, BlobPart::kValues, image.data());
    observed_->forward(0, observed_->layers() - 1);
  }

  std::vector<float> read(const std::string& blob) const {
    std::vector<float> values(size_t(net_->blob_shape(blob).count()));
    observed_->read(blob, BlobPart::kValues, values.data());
    return values;
  }

  /// 'prob', or the only output.
  std::string output() const {
    const auto& outputs = net_->outputs();
    for (const NetOutput& one : outputs)
      if (one.name == "prob") return one.name;
    if (outputs.size() != 1) throw Error(ExitCode::kUsage, "the net has several outputs, but none is named prob");
    return outputs[0].name;
  }

  /// Blobs in execution order, with the first layer that writes each.
  Json blobs() const {
    Json list = Json::array();
    for (const std::string& blob : observed_->blobs()) {
      const caffe::LayerParameter* made = nullptr;
      for (const graph::SourceLayer& layer : net_->plan().graph.layers)
        if (!made && std::ranges::find(layer.config->top(), blob) != layer.config->top().end()) made = layer.config;
      list.push_back({{"name", blob},
                      {"layer", made ? made->name() : ""},
                      {"type", made ? made->type() : ""},
                      {"shape", net_->blob_shape(blob).dims()}});
    }
    return list;
  }

  /// Layers whose first weight has filters or is a matrix.
  Json filters() const {
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

  Json filters_of(const std::string& name) const {
    for (const graph::SourceLayer& layer : net_->plan().graph.layers) {
      if (layer.config->name() != name || layer.weights.empty()) continue;
      const Shape& shape = net_->plan().graph.weight(layer.weights[0]).spec.shape;
      std::vector<float> values(size_t(shape.count()));
      net_->read_weight(layer.weights[0], values.data());
      return shown(name, shape, values, Kind::kFilters);
    }
    throw Error(ExitCode::kUsage, "unknown layer with weights '" + name + "'");
  }

 private:
  caffe::NetState state_;
  tools::InferenceNet made_;
  std::unique_ptr<Net> net_;
  std::optional<ObservedNet> observed_;
};

Json classes_of(const LookedAt& net, const Arguments& arguments, const std::optional<tools::LikeNet>& like) {
  const std::vector<float> scores = net.read(net.output());
  const std::vector<double> shares = tools::is_distribution(scores.data(), scores.size())
                                         ? std::vector<double>(scores.begin(), scores.end())
                                         : tools::softmax(scores.data(), scores.size());
  const std::vector<std::string> names =
      tools::class_names(arguments.text("labels"), like, arguments.text("model"), int64_t(scores.size()));
  Json list = Json::array();
  for (const tools::Guess& guess : tools::best(shares, size_t(arguments.integer("top"))))
    list.push_back({{"label", guess.label},
                    {"name", names.empty() ? std::to_string(guess.label) : names[size_t(guess.label)]},
                    {"probability", guess.probability}});
  return list;
}

int run_look(const Arguments& arguments) {
  tools::CommandContext context(arguments);
  LookedAt net(arguments, context);
  Json answer = {{"blobs", net.blobs()}, {"filters", net.filters()}};
  if (!arguments.text("image").empty()) {
    const Shape shape = net.input_shape();
    std::optional<tools::LikeNet> like = tools::find_like_net(arguments, net.inference_net());
    data::ImagePreparer preparer(tools::image_preparation(arguments, like, shape));
    std::vector<float> image(size_t(shape.count()));
    preparer.prepare(arguments.text("image"), int(shape[1]), int(shape[2]), int(shape[3]), image.data());
    net.run(image);
    answer["classes"] = classes_of(net, arguments, like);
    if (const std::string blob = arguments.text("blob"); !blob.empty())
      answer["activations"] = shown(blob, net.net().blob_shape(blob), net.read(blob), Kind::kActivations);
  }
  if (const std::string layer = arguments.text("weights-of"); !layer.empty()) answer["weights"] = net.filters_of(layer);
  std::cout << dumped_json(answer) << "\n";
  return 0;
}

tools::Flag text_flag(const char* name, const char* help) {
  return {.name = name, .kind = tools::FlagKind::kText, .value = "TEXT", .help = help};
}

}  // namespace

tools::Command look_command() {
  return {
      .name = "look",
      .summary = "Show the inside of a trained net, for the studio",
      .flags = tools::joined(
          {{tools::model_flag(), tools::weights_flag(), tools::set_flag(),
            text_flag("image", "image file to run through the net"), text_flag("blob", "blob whose values are shown"),
            text_flag("weights-of", "layer whose weights are shown"), tools::labels_flag(), tools::top_flag(1000)},
           tools::image_input_flags(),
           tools::state_flags(),
           tools::device_flags()}),
      .run = run_look};
}

namespace {

constexpr int kBins = 40;
constexpr size_t kMaxValues = 1000;

Json histogram(const std::vector<float>& values, double low, double high) {
  if (!(high > low)) high = low + 1;
  std::vector<int64_t> counts(kBins);
  for (const float value : values)
    if (std::isfinite(value))
      ++counts[size_t(std::clamp(int((double(value) - low) / (high - low) * kBins), 0, kBins - 1))];
  std::vector<double> edges;
  for (int i = 0; i <= kBins; ++i) edges.push_back(low + (high - low) * i / kBins);
  return {{"edges", edges}, {"counts", counts}};
}

Json picture(const Tiles& tiles) {
  return {{"png", base64(tiles.png)},
          {"width", tiles.width},
          {"height", tiles.height},
          {"planes", tiles.planes},
          {"shown", tiles.shown}};
}

}  // namespace

Json shown(const std::string& name, const Shape& shape, const std::vector<float>& values, Kind kind) {
  double low = 0, high = 0, sum = 0;
  int64_t finite = 0;
  for (const float value : values) {
    if (!std::isfinite(value)) continue;
    low = finite ? std::min(low, double(value)) : double(value);
    high = finite ? std::max(high, double(value)) : double(value);
    sum += double(value);
    ++finite;
  }
  Json json = {{"name", name},
               {"shape", shape.dims()},
               {"least", low},
               {"most", high},
               {"mean", finite ? sum / double(finite) : 0},
               {"not_finite", int64_t(values.size()) - finite},
               {"histogram", histogram(values, low, high)}};
  if (shape.axes() == 4 && shape[2] * shape[3] > 1)
    json["picture"] = picture(kind == Kind::kFilters ? filter_tiles(shape, values) : activation_tiles(shape, values));
  else
    json["values"] = std::vector<float>(values.begin(), values.begin() + int64_t(std::min(values.size(), kMaxValues)));
  return json;
}

}  // namespace cortado::studio
