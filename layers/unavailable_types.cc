#include "layers/unavailable_types.h"

#include <map>

namespace cortado {

namespace {

constexpr UnavailableType kDetection = {
    "detects objects, and there are no detection layers yet",
    "the layers before it run: leave out those of detection to train or test the net as a classifier"};
constexpr UnavailableType kPython = {
    "is code in Python, which is not run: a net is data, and reading one must not start a program",
    "put its values into files (HDF5Data, ImageData, an Input layer), write it with other layers, or add it as a layer "
    "in C++ (docs/adding-a-layer.md)"};
constexpr UnavailableType kForeignEngine = {"runs an engine of another program within the net",
                                            "use the net that the engine was made of"};
constexpr UnavailableType kManyMachines = {"exchanges values between machines, and nets run on one machine here",
                                           "remove it: its bottom is its top on one machine"};
constexpr UnavailableType kBatchNorm = {"is another writing of BatchNorm", "write BatchNorm, and Scale behind it"};

const std::map<std::string, UnavailableType>& table() {
  static const std::map<std::string, UnavailableType> types = {
      {"AnnotatedData", kDetection},     {"BoxAnnotatorOHEM", kDetection},
      {"BoxData", kDetection},           {"DetectNetTransformation", kDetection},
      {"DetectionEvaluate", kDetection}, {"DetectionOutput", kDetection},
      {"EvalDetection", kDetection},     {"MKLBatchNorm", kBatchNorm},
      {"MnActivation", kManyMachines},   {"MultiBoxLoss", kDetection},
      {"PSROIPooling", kDetection},      {"PriorBox", kDetection},
      {"Proposal", kDetection},          {"Python", kPython},
      {"ROIAlign", kDetection},          {"ROIPooling", kDetection},
      {"RegionLoss", kDetection},        {"Reorg", kDetection},
      {"SmoothL1LossOHEM", kDetection},  {"SoftmaxWithLossOHEM", kDetection},
      {"TRT", kForeignEngine},           {"VideoData", kDetection},
  };
  return types;
}

}  // namespace

const UnavailableType* find_unavailable_type(const std::string& name) {
  const auto found = table().find(name);
  return found == table().end() ? nullptr : &found->second;
}

}  // namespace cortado
