#include "layers/common/detection/proposal_anchors.h"

#include <cmath>

#include "core/error.h"
#include "core/text/text.h"

namespace cortado {

namespace {

std::vector<float> positive_numbers(const google::protobuf::RepeatedField<float>& given, std::vector<float> otherwise,
                                    const std::string& field) {
  for (const float value : given)
    if (!(value > 0 && std::isfinite(value)))
      throw FieldError(field, "one value is " + to_text(value) + ", but must be above 0");
  if (given.empty()) return otherwise;
  return {given.begin(), given.end()};
}

}  // namespace

std::vector<Box> proposal_anchors(const caffe::ProposalParameter& param) {
  const double centre = 0.5 * (double(param.base_size()) - 1), area = double(param.base_size()) * param.base_size();
  std::vector<Box> anchors;
  for (const float ratio : positive_numbers(param.ratio(), {0.5f, 1, 2}, "proposal_param.ratio")) {
    const double width = std::nearbyint(std::sqrt(area / ratio)), height = std::nearbyint(width * ratio);
    for (const float scale : positive_numbers(param.scale(), {8, 16, 32}, "proposal_param.scale")) {
      const double w = 0.5 * (width * scale - 1), h = 0.5 * (height * scale - 1);
      anchors.push_back({float(centre - w), float(centre - h), float(centre + w), float(centre + h)});
    }
  }
  return anchors;
}

}  // namespace cortado
