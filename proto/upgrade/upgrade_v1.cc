// In layers of 2014 the type is an enum, and lists hold the learning rates, decays and shared names of weights.
#include <iterator>
#include <map>
#include <string>

#include "proto/text/move_field.h"
#include "proto/upgrade/upgrade_layers.h"

namespace cortado {

namespace {

using V1 = caffe::V1LayerParameter;
using google::protobuf::FieldDescriptor;

/// By number of the enum's value.
constexpr const char* kUpgradeV1Types[] = {
    "",
    "Accuracy",
    "BNLL",
    "Concat",
    "Convolution",
    "Data",
    "Dropout",
    "EuclideanLoss",
    "Flatten",
    "HDF5Data",
    "HDF5Output",
    "Im2col",
    "ImageData",
    "InfogainLoss",
    "InnerProduct",
    "LRN",
    "MultinomialLogisticLoss",
    "Pooling",
    "ReLU",
    "Sigmoid",
    "Softmax",
    "SoftmaxWithLoss",
    "Split",
    "TanH",
    "WindowData",
    "Eltwise",
    "Power",
    "SigmoidCrossEntropyLoss",
    "HingeLoss",
    "MemoryData",
    "ArgMax",
    "Threshold",
    "DummyData",
    "Slice",
    "MVN",
    "AbsVal",
    "Silence",
    "ContrastiveLoss",
    "Exp",
    "Deconvolution",
};

/// Types of forks of Caffe, whose numbers are Cortado's own.
const std::map<V1::LayerType, const char*>& fork_types() {
  static const std::map<V1::LayerType, const char*> types = {
      {V1::BN, "BN"},
      {V1::CONVOLUTION3D, "Convolution3D"},
      {V1::CROP, "Crop"},
      {V1::DECONVOLUTION3D, "Deconvolution3D"},
      {V1::DENSE_CRF, "DenseCRF"},
      {V1::DENSE_IMAGE_DATA, "DenseImageData"},
      {V1::IMAGE_SEG_DATA, "ImageSegData"},
      {V1::INTERP, "Interp"},
      {V1::MAT_READ, "MatRead"},
      {V1::MAT_WRITE, "MatWrite"},
      {V1::MULTI_STAGE_MEANFIELD, "MultiStageMeanfield"},
      {V1::PADDING, "Padding"},
      {V1::POOLING3D, "Pooling3D"},
      {V1::PRELU, "PReLU"},
      {V1::PYTHON, "Python"},
      {V1::RESHAPE, "Reshape"},
      {V1::ROI_POOLING, "ROIPooling"},
      {V1::SEG_ACCURACY, "SegAccuracy"},
      {V1::SMOOTH_L1_LOSS, "SmoothL1Loss"},
      {V1::UNPOOLING, "Unpooling"},
      {V1::UPSAMPLE, "Upsample"},
      {V1::VIDEO_DATA, "VideoData"},
      {V1::VIDEO_SEGMENTATION_DATA, "VideoSegmentationData"},
      {V1::VIDEO_WITH_VOXEL_TRUTH_DATA, "VideoWithVoxelTruthData"},
      {V1::VOXEL_SOFTMAX, "VoxelSoftmax"},
      {V1::VOXEL_SOFTMAX_LOSS, "VoxelSoftmaxLoss"},
      {V1::WINDOW_SEG_DATA, "WindowSegData"},
  };
  return types;
}

/// Lists with one entry per weight, and the field of `param` that replaces them.
struct ParamList {
  const char* list;
  const char* field;
};
constexpr ParamList kParamLists[] = {
    {"param", "name"}, {"blob_share_mode", "share_mode"}, {"blobs_lr", "lr_mult"}, {"weight_decay", "decay_mult"}};

/// Moves fields that have the same name and type in the current format: bottoms, tops, blobs, options.
void copy_same(const PlacedMessage& from, const PlacedMessage& to, Positions& positions) {
  const auto& reflection = *from.message.GetReflection();
  std::vector<const FieldDescriptor*> fields;
  reflection.ListFields(from.message, &fields);
  for (const FieldDescriptor* field : fields) {
    const FieldDescriptor* target = to.message.GetDescriptor()->FindFieldByName(field->name());
    if (target == nullptr || target->cpp_type() != field->cpp_type() || target->message_type() != field->message_type())
      continue;
    if (!field->is_repeated()) copy_field(from, field->name(), -1, to, field->name(), positions);
    for (int i = 0; field->is_repeated() && i < reflection.FieldSize(from.message, field); ++i)
      copy_field(from, field->name(), i, to, field->name(), positions);
  }
}

/// DeepLab's name for loss_param.
void move_loss_options(V1& old, const std::string& old_path, const PlacedMessage& to, Positions& positions,
                       Mistakes& mistakes) {
  if (!old.has_softmaxloss_param()) return;
  const PlacedMessage from{*old.mutable_softmaxloss_param(), path_to(old_path, "softmaxloss_param")};
  if (old.has_loss_param())
    return mistakes.add({positions.name_place(from.path),
                         "'softmaxloss_param' and 'loss_param' in one layer",
                         "merge both into loss_param",
                         {{positions.name_place(path_to(old_path, "loss_param")), "loss_param is here"}}});
  std::vector<const FieldDescriptor*> fields;
  from.message.GetReflection()->ListFields(from.message, &fields);
  for (const FieldDescriptor* field : fields) {
    const int n = field->is_repeated() ? from.message.GetReflection()->FieldSize(from.message, field) : 0;
    if (!field->is_repeated()) copy_field(from, field->name(), -1, to, path_to("loss_param", field->name()), positions);
    for (int i = 0; i < n; ++i) copy_field(from, field->name(), i, to, path_to("loss_param", field->name()), positions);
  }
}

void upgrade_layer(V1& old, const std::string& old_path, caffe::LayerParameter& layer, const std::string& path,
                   Positions& positions, Mistakes& mistakes) {
  const PlacedMessage from{old, old_path}, to{layer, path};
  positions.copy_node(old_path, path);
  copy_same(from, to, positions);
  move_loss_options(old, old_path, to, positions, mistakes);
  if (old.has_type()) {
    layer.set_type(type_of_2014(uint64_t(old.type())));
    positions.copy(path_to(old_path, "type"), path_to(path, "type"));
  }
  for (const ParamList& list : kParamLists) {
    const FieldDescriptor* field = old.GetDescriptor()->FindFieldByName(list.list);
    for (int i = 0; i < old.GetReflection()->FieldSize(old, field); ++i)
      copy_field(from, list.list, i, to, path_to(path_to("", "param", i), list.field), positions);
  }
}

}  // namespace

std::string type_of_2014(uint64_t number) {
  if (number < std::size(kUpgradeV1Types)) return kUpgradeV1Types[number];
  const auto fork = fork_types().find(V1::LayerType(number));
  return fork == fork_types().end() ? std::to_string(number) : fork->second;
}

void upgrade_v1_layers(caffe::NetParameter& net, const std::string& path, Positions& positions, Mistakes& mistakes) {
  if (net.layers_size() == 0) return;
  if (net.layer_size() > 0) {
    mistakes.add({positions.name_place(path_to(path, "layers", 0)),
                  "'layers' and 'layer' in one net: their order is unknown",
                  "convert every `layers` to `layer`",
                  {{positions.name_place(path_to(path, "layer", 0)), "'layer' is used here"}}});
    return;
  }
  for (int i = 0; i < net.layers_size(); ++i) {
    const std::string old_path = path_to(path, "layers", i);
    upgrade_layer(*net.mutable_layers(i), old_path, *net.add_layer(), path_to(path, "layer", i), positions, mistakes);
    positions.erase(old_path);
  }
  net.clear_layers();
}

}  // namespace cortado
