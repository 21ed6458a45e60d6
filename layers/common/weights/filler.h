#pragma once

// Fillers: what weights (and DummyData's tops) hold at first.

#include <cstdint>
#include <string>

#include "core/context.h"
#include "core/tensor.h"
#include "layers/layer.h"
#include "proto/cortado.pb.h"

namespace cortado {

/// Throws FieldError, for the path `field` + ".type" and so on, when the type is unknown, its numbers contradict each
/// other or the shape does not suit it. Layers call it in infer() for each weight ("convolution_param.weight_filler").
void check_filler(const caffe::FillerParameter& filler, const Shape& shape, const std::string& field);

/// A learned weight that begins so, checked.
WeightSpec filled_weight(const caffe::FillerParameter& filler, const Shape& shape, const std::string& field);

/// Writes a tensor of any floating-point type, plain or channels-last, where the context computes: a pure function of
/// (filler, shape, key), whatever context.threads is. Throws what check_filler() throws, with paths below the filler's
/// own message ("type").
void fill(Context& context, const caffe::FillerParameter& filler, uint64_t key, const Tensor& y);

/// The same for shape.count() floats in the host's memory, on as many threads as the context has.
void fill(Context& context, const caffe::FillerParameter& filler, const Shape& shape, uint64_t key, float* plain);

}  // namespace cortado
