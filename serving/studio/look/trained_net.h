#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "net/observed_net.h"
#include "studio/look/shown.h"
#include "tools/options/inference_net.h"

namespace cortado::studio {

/// A net with its weights, whose blobs can be read after a forward pass of one image.
class TrainedNet {
 public:
  /// Builds the net of --model with --weights. Throws Error.
  TrainedNet(const tools::Arguments& arguments, Context& context);

  const tools::InferenceNet& inference_net() const { return made_; }
  /// The shape of its input: one image. Throws Error(kUsage) if it has other inputs.
  Shape input_shape() const;
  void run(const std::vector<float>& image);

  Shape shape_of(const std::string& blob) const { return observed_->shape(blob); }
  std::vector<float> read(const std::string& blob) const;  ///< after run()
  /// 'prob', or the only output; "" if there are several.
  std::string output() const;
  /// Whether the output has rows of image, label, score and four corners.
  bool finds_objects() const;
  /// Whether the output has one value for each class.
  bool scores_classes() const;

  /// Blobs in execution order, with the first layer that writes each.
  Json blobs() const;
  /// Layers whose first weight has filters or is a matrix.
  Json filters() const;
  /// The weights of a layer. Throws Error(kUsage) for an unknown layer.
  Json filters_of(const std::string& layer) const;

 private:
  caffe::NetState state_;
  tools::InferenceNet made_;
  std::unique_ptr<Net> net_;
  std::optional<ObservedNet> observed_;
};

}  // namespace cortado::studio
