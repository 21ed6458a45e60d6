// Before generated code parses a file, a pass over its bytes removes blobs, renumbers fields of other dialects, and
// counts the parts, because generated code allocates some hundred bytes for each.
#include "proto/files/binary_net.h"

#include <limits>

#include "core/error.h"
#include "core/files/mapped_file.h"
#include "proto/upgrade/upgrade.h"
#include "proto/weights/dialect_clues.h"

namespace cortado {

namespace {

constexpr size_t kBinaryNetMaxBytes = size_t(16) << 20, kBinaryNetMaxParts = 300'000;
constexpr int kMaxDepth = 64;

enum class Level { kNet, kLayer, kLayer2014, kLayer2013, kBatchNorm, kConvolution, kPooling, kLoss };

struct Inner {
  Level outer;
  uint32_t number;
  Level inner;
};
constexpr Inner kInner[] = {{Level::kNet, 100, Level::kLayer},         {Level::kNet, 2, Level::kLayer2014},
                            {Level::kLayer2014, 1, Level::kLayer2013}, {Level::kLayer, 139, Level::kBatchNorm},
                            {Level::kLayer, 106, Level::kConvolution}, {Level::kLayer, 121, Level::kPooling},
                            {Level::kLayer, 101, Level::kLoss}};

struct Blobs {
  Level level;
  uint32_t number;
};
constexpr Blobs kBinaryNetBlobs[] = {{Level::kLayer, 7}, {Level::kLayer2014, 6}, {Level::kLayer2013, 50}};

/// A field of a dialect whose number differs here; ours is 0 if it has no counterpart.
struct Renumbered {
  Dialect dialect;
  Level level;
  uint32_t theirs, ours;
};
constexpr Renumbered kRenumbered[] = {
    {Dialect::kNvidia, Level::kLayer, 145, caffe::LayerParameter::kForwardTypeFieldNumber},
    {Dialect::kNvidia, Level::kLayer, 146, caffe::LayerParameter::kBackwardTypeFieldNumber},
    {Dialect::kNvidia, Level::kLayer, 147, caffe::LayerParameter::kForwardMathFieldNumber},
    {Dialect::kNvidia, Level::kLayer, 148, caffe::LayerParameter::kBackwardMathFieldNumber},
    {Dialect::kNvidia, Level::kLayer, 151, caffe::LayerParameter::kRecurrentParamFieldNumber},
    {Dialect::kIntel, Level::kNet, 11, caffe::NetParameter::kBnStatsBatchSizeFieldNumber},
    {Dialect::kIntel, Level::kLayer, 148, caffe::LayerParameter::kSmoothL1LossParamFieldNumber},
    {Dialect::kIntel, Level::kLayer, 149, caffe::LayerParameter::kEngineFieldNumber},
    {Dialect::kIntel, Level::kLayer, 150, caffe::LayerParameter::kMultinodeFieldNumber},
    {Dialect::kIntel, Level::kLayer, 152, caffe::LayerParameter::kBoxAnnotatorOhemParamFieldNumber},
    {Dialect::kIntel, Level::kBatchNorm, 4, caffe::BatchNormParameter::kEngineFieldNumber},
    {Dialect::kIntel, Level::kBatchNorm, 5, caffe::BatchNormParameter::kUseWeightBiasFieldNumber},
    {Dialect::kIntel, Level::kBatchNorm, 6, caffe::BatchNormParameter::kBiasTermFieldNumber},
    {Dialect::kIntel, Level::kBatchNorm, 7, caffe::BatchNormParameter::kFillerFieldNumber},
    {Dialect::kIntel, Level::kBatchNorm, 8, caffe::BatchNormParameter::kBiasFillerFieldNumber},
    {Dialect::kIntel, Level::kConvolution, 19, caffe::ConvolutionParameter::kReluFieldNumber},
    {Dialect::kIntel, Level::kConvolution, 20, caffe::ConvolutionParameter::kNegativeSlopeFieldNumber},
    {Dialect::kIntel, Level::kPooling, 13, caffe::PoolingParameter::kAvgIncludePadFieldNumber},
    {Dialect::kIntel, Level::kLoss, 4, caffe::LossParameter::kPreFixedNormalizerFieldNumber},
    {Dialect::kIntel, Level::kLoss, 5, caffe::LossParameter::kLabelSmoothingFieldNumber},
};

uint32_t our_number(Dialect dialect, Level level, uint32_t number) {
  for (const Renumbered& field : kRenumbered)
    if (field.dialect == dialect && field.level == level && field.theirs == number) return field.ours;
  return number;
}

bool is_blob(Level level, uint32_t number) {
  for (const Blobs& blobs : kBinaryNetBlobs)
    if (blobs.level == level && blobs.number == number) return true;
  return false;
}

const Inner* inner_of(Level level, uint32_t number) {
  for (const Inner& inner : kInner)
    if (inner.outer == level && inner.number == number) return &inner;
  return nullptr;
}

/// The message without blobs, with our field numbers.
std::string translated(const WireFile& file, std::string_view message, Level level, Dialect dialect) {
  std::string out;
  WireReader reader(file, message);
  for (WireField field; reader.next(field);) {
    if (is_blob(level, field.number)) continue;
    const Inner* inner = field.type == WireField::kBytes ? inner_of(level, field.number) : nullptr;
    std::string content;
    if (inner) {
      content = translated(file, field.bytes, inner->inner, dialect);
      field.bytes = content;
    }
    // Intel has an additional NormalizationMode before the last one.
    constexpr uint32_t kNormalization = caffe::LossParameter::kNormalizationFieldNumber;
    if (dialect == Dialect::kIntel && level == Level::kLoss && field.is(kNormalization, WireField::kVarint))
      field.value = field.value == 3 ? uint64_t(caffe::LossParameter::PRE_FIXED) : field.value == 4 ? 3 : field.value;
    put_field(field, our_number(dialect, level, field.number), out);
    if (out.size() > kBinaryNetMaxBytes) file.fail("more than 16 MiB without the blobs: not a net");
  }
  return out;
}

Dialect dialect_of(const WireFile& file) {
  DialectClues clues;
  WireReader reader(file, file.content);
  for (WireField field; reader.next(field);) {
    clues.net_field(field);
    if (field.is(100, WireField::kBytes)) clues.layer(file, field.bytes);
  }
  return clues.dialect();
}

/// Counts strings and messages, as generated code would allocate them.
void count_parts(const WireFile& file, std::string_view message, const google::protobuf::Descriptor& type, int depth,
                 size_t& parts) {
  if (depth > kMaxDepth) file.fail("messages are nested deeper than " + std::to_string(kMaxDepth));
  WireReader reader(file, message);
  for (WireField field; reader.next(field);) {
    if (field.type != WireField::kBytes) continue;
    if (++parts > kBinaryNetMaxParts)
      file.fail("more than " + std::to_string(kBinaryNetMaxParts) + " parts: not a net");
    const auto* known = type.FindFieldByNumber(int(field.number));
    if (known && known->message_type()) count_parts(file, field.bytes, *known->message_type(), depth + 1, parts);
  }
}

caffe::NetParameter parse(const WireFile& file) {
  size_t parts = 0;
  caffe::NetParameter net;
  if (file.content.size() > size_t(std::numeric_limits<int32_t>::max()))
    file.fail(std::to_string(file.content.size()) + " bytes: a net may have at most 2 GiB");
  count_parts(file, file.content, *net.GetDescriptor(), 0, parts);
  if (!net.ParsePartialFromArray(file.content.data(), int(file.content.size()))) file.fail("corrupt: not a net");
  return net;
}

}  // namespace

NetFile binary_net_from_bytes(std::string_view content, const std::string& path) {
  const WireFile file{path, content, ExitCode::kNet};
  const std::string bare = translated(file, content, Level::kNet, dialect_of(file));
  NetFile net{parse({path, bare, ExitCode::kNet}), Positions(path)};
  upgrade_net(net.net, net.positions);
  return net;
}

NetFile read_binary_net(const std::string& path) {
  const MappedFile file(path);
  return binary_net_from_bytes({reinterpret_cast<const char*>(file.data()), size_t(file.size())}, path);
}

caffe::NetParameter parse_net(std::string_view content, const std::string& path) {
  return parse({path, content, ExitCode::kNet});
}

}  // namespace cortado
