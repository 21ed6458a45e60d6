#pragma once

// Fillers: the initial values of weights (and of DummyData's tops).

#include <cstdint>
#include <string>
#include <vector>

#include "core/context.h"
#include "core/tensor.h"
#include "layers/layer.h"
#include "proto/cortado.pb.h"

namespace cortado {

/// Throws FieldError, with paths `field` + ".type" and so on, for an unknown type, contradicting numbers or an
/// unsuitable shape. Layers call it in infer() for each weight ("convolution_param.weight_filler").
void check_filler(const caffe::FillerParameter& filler, const Shape& shape, const std::string& field);

/// Throws FieldError for an unknown type.
void check_filler_type(const caffe::FillerParameter& filler, const std::string& field);

/// Whether its values are drawn. Those of the others are the same in each pass.
bool is_random(const caffe::FillerParameter& filler);

/// The numbers in a text file, separated by blanks. Throws FieldError("file") unless there are `count`.
std::vector<float> numbers_in_file(const std::string& path, int64_t count);

/// A learned weight with this filler. Throws like check_filler().
WeightSpec filled_weight(const caffe::FillerParameter& filler, const Shape& shape, const std::string& field);

/// Fills a tensor of any floating-point type, plain or channels last, on the context's device: a pure function of
/// (filler, shape, key), independent of context.threads. Throws like check_filler(), with paths relative to the
/// filler's message ("type").
void fill(Context& context, const caffe::FillerParameter& filler, uint64_t key, const Tensor& y);

/// The same for shape.count() floats in host memory, on all threads of the context.
void fill(Context& context, const caffe::FillerParameter& filler, const Shape& shape, uint64_t key, float* plain);

}  // namespace cortado
