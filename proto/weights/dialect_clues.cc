#include "proto/weights/dialect_clues.h"

#include <span>

#include "proto/weights/weights_origin.h"

namespace cortado {

namespace {

/// Fields `first` to `last` with this wire type occur only in this dialect.
struct Clue {
  uint32_t first, last;
  WireField::Type type;
  Dialect dialect;
};

constexpr Clue kNet[] = {
    {12, 14, WireField::kVarint, Dialect::kNvidia},   // default_backward_type and the types of arithmetic
    {15, 15, WireField::kFixed32, Dialect::kNvidia},  // global_grad_scale
    {16, 20, WireField::kVarint, Dialect::kNvidia},   // reduce_buckets and others
    {17, 17, WireField::kBytes, Dialect::kNvidia},    // default_conv_algos_override
    {9, 10, WireField::kBytes, Dialect::kIntel},      // engine, compile_net_state
    {101, 101, WireField::kBytes, Dialect::kIntel},   // multinode
};

constexpr Clue kLayer[] = {
    {145, 150, WireField::kVarint, Dialect::kNvidia},   // forward_type and others; messages in BVLC's
    {6801, 6802, WireField::kBytes, Dialect::kNvidia},  // DetectNet's
    {149, 150, WireField::kBytes, Dialect::kIntel},     // engine, multinode
    {153, 159, WireField::kBytes, Dialect::kIntel},     // ROI pooling, quantization, ...
    {208, 209, WireField::kBytes, Dialect::kIntel},     // split_param, region_loss_param
    {301, 301, WireField::kBytes, Dialect::kIntel},     // eval_detection_param
};

constexpr Clue kDialectCluesBatchNorm[] = {
    {5, 6, WireField::kBytes, Dialect::kNvidia},     // scale_filler, bias_filler
    {7, 7, WireField::kVarint, Dialect::kNvidia},    // scale_bias
    {15, 15, WireField::kVarint, Dialect::kNvidia},  // engine
    {4, 6, WireField::kVarint, Dialect::kIntel},     // engine, use_weight_bias, bias_term
    {7, 8, WireField::kBytes, Dialect::kIntel},      // filler, bias_filler
    {9, 10, WireField::kVarint, Dialect::kIntel},    // stats_batch_size, relu
};

const Clue* find(std::span<const Clue> clues, const WireField& field) {
  for (const Clue& clue : clues)
    if (field.number >= clue.first && field.number <= clue.last && field.type == clue.type) return &clue;
  return nullptr;
}

/// Numbers that only cortado.proto has, for options of the dialects whose own numbers differ in BVLC's schema.
bool is_ours(const WireField& field) { return field.number >= 10000 && field.number < 10100; }

}  // namespace

void DialectClues::net_field(const WireField& field) {
  if (field.number == kChecksumField) return;  // in files of every dialect that Cortado wrote
  ours_ |= is_ours(field);
  if (const Clue* clue = find(kNet, field)) take(clue->dialect);
}

void DialectClues::layer(const WireFile& file, std::string_view message) {
  constexpr uint32_t kType = 2, kBlobs = 7, kBatchNormOptions = 139, kRawData = 12;
  bool batch_norm = false;
  int blobs = 0;
  WireReader reader(file, message);
  for (WireField field; reader.next(field);) {
    layer_field(field);
    batch_norm |= field.is(kType, WireField::kBytes) && field.bytes == "BatchNorm";
    if (field.is(kBlobs, WireField::kBytes)) {
      ++blobs;
      WireReader blob(file, field.bytes);
      for (WireField part; blob.next(part);) raw_ |= part.is(kRawData, WireField::kBytes);
    }
    if (!field.is(kBatchNormOptions, WireField::kBytes)) continue;
    WireReader options(file, field.bytes);
    for (WireField option; options.next(option);) batch_norm_field(option);
  }
  intel_ |= batch_norm && blobs == 4;  // only Intel's has a scale without a bias
}

/// Only NVIDIA's has raw values, though a net of NVIDIA's trained here has BVLC's numbers. Other fields of NVIDIA's may
/// be in a file of Intel's that was converted from one of NVIDIA's.
Dialect DialectClues::dialect() const {
  if (raw_) return Dialect::kNvidia;
  if (ours_) return Dialect::kBvlc;
  return intel_ ? Dialect::kIntel : nvidia_ ? Dialect::kNvidia : Dialect::kBvlc;
}

void DialectClues::layer_field(const WireField& field) {
  ours_ |= is_ours(field);
  if (const Clue* clue = find(kLayer, field)) take(clue->dialect);
}

void DialectClues::batch_norm_field(const WireField& field) {
  ours_ |= is_ours(field);
  if (const Clue* clue = find(kDialectCluesBatchNorm, field)) take(clue->dialect);
}

}  // namespace cortado
