#pragma once

// A layer of any type with options that it accepts, for tests that look at all types of the registry.

#include <gtest/gtest.h>

#include <algorithm>
#include <functional>
#include <map>
#include <memory>
#include <string>

#include "core/error.h"
#include "layers/registry.h"
#include "proto/files/read_text.h"

namespace cortado {

/// Options without which a type cannot be made, where setting all numbers to 1 does not suffice.
inline const std::map<std::string, std::string> kNeeded = {
    {"Convolution", "convolution_param { num_output: 2 kernel_size: 1 }"},
    {"ConvolutionDepthwise", "convolution_param { num_output: 2 kernel_size: 1 }"},
    {"Deconvolution", "convolution_param { num_output: 2 kernel_size: 1 }"},
    {"DenseBlock", "denseblock_param { numTransition: 1 initChannel: 1 growthRate: 1 }"},
    {"DepthwiseConvolution", "convolution_param { num_output: 2 kernel_size: 1 }"},
    {"DetectionLoss", "detection_loss_param { cls_num: 2 field_w: 9 field_h: 9 downsample_rate: 8 }"},
    {"FQConvolution", "convolution_param { num_output: 2 kernel_size: 1 }"},
    {"HDF5Output", "hdf5_output_param { file_name: 'f' }"},
    {"Im2col", "convolution_param { kernel_size: 1 }"},
    {"InfogainLoss", "bottom: 'matrix'"},
    {"Interp", "interp_param { height: 2 width: 2 }"},
    {"MatWrite", "mat_write_param { prefix: 'f' }"},
    {"MultiBoxLoss", "multibox_loss_param { num_classes: 2 }"},
    {"Pooling", "pooling_param { kernel_size: 2 }"},
    {"Pooling3D", "pooling3d_param { kernel_size: 2 kernel_depth: 2 }"},
    {"PriorBox", "prior_box_param { min_size: 4 }"},
    {"ProposalTarget",
     "proposal_target_param { cls_num: 2 batch_size: -1 num_img_per_batch: 2 img_width: 90 img_height: 80 }"},
    {"ROIPooling", "roi_pooling_param { pooled_h: 2 pooled_w: 2 }"},
    {"RegionLoss", "region_loss_param { num_class: 2 num: 1 biases: 1 biases: 1 }"},
    {"Unpooling", "unpooling_param { unpool_size: 2 }"},
    {"YoloDetectionOutput", "yolo_detection_output_param { num_classes: 2 num_box: 1 biases: 1 biases: 1 }"},
    {"Yolov3DetectionOutput",
     "yolov3_detection_output_param { num_classes: 2 num_box: 1 mask_group_num: 1 mask: 0 anchors_scale: 32 biases: 1 "
     "biases: 1 }"},
    {"Yolov3", "yolov3_param { num_class: 2 num: 1 biases: 1 biases: 1 mask: 0 }"}};

/// Sets every number of a message to 1: many types need some of their options.
inline void set_numbers(google::protobuf::Message& message) {
  using Field = google::protobuf::FieldDescriptor;
  const auto* reflection = message.GetReflection();
  for (int i = 0; i < message.GetDescriptor()->field_count(); ++i) {
    const Field* field = message.GetDescriptor()->field(i);
    const auto type = field->cpp_type();
    if (field->is_repeated() && type == Field::CPPTYPE_UINT32) reflection->AddUInt32(&message, field, 1);
    if (field->is_repeated() && type == Field::CPPTYPE_FLOAT) reflection->AddFloat(&message, field, 1);
    if (field->is_repeated()) continue;
    if (type == Field::CPPTYPE_UINT32) reflection->SetUInt32(&message, field, 1);
    if (type == Field::CPPTYPE_INT32) reflection->SetInt32(&message, field, 1);
    if (type == Field::CPPTYPE_FLOAT) reflection->SetFloat(&message, field, 1);
  }
}

inline caffe::LayerParameter config_of(const LayerType& type, bool with_numbers) {
  const auto needed = kNeeded.find(type.name);
  caffe::NetParameter net = read_net_from_text("layer { name: 'l' type: '" + type.name + "' " +
                                                   (needed == kNeeded.end() ? "" : needed->second) + " }",
                                               "net.prototxt")
                                .net;
  caffe::LayerParameter config = net.layer(0);
  for (int i = 0; i < std::max(1, type.min_tops); ++i) config.add_top("top");
  for (int i = 0; i < std::max(1, type.min_bottoms); ++i) config.add_bottom("bottom");
  const auto* field = config.GetDescriptor()->FindFieldByName(type.options);
  if (with_numbers && field && field->is_repeated())
    set_numbers(*config.GetReflection()->AddMessage(&config, field));
  else if (with_numbers && field)
    set_numbers(*config.GetReflection()->MutableMessage(&config, field));
  return config;
}

/// Calls look(layer) with a layer of the type, which must neither read data nor be written in Python.
inline void look_at_sample(const LayerType& type, const std::function<void(Layer&)>& look) {
  for (const bool with_numbers : {false, true}) {
    const caffe::LayerParameter config = config_of(type, with_numbers);
    std::unique_ptr<Layer> layer;
    try {
      layer = type.make({.config = config, .open_data = false});
    } catch (const FieldError& error) {
      EXPECT_FALSE(with_numbers) << type.name << ": add the options that it needs: " << error.what();
      continue;
    }
    return look(*layer);
  }
}

}  // namespace cortado
