#include "kernels/cpu/onednn/onednn.h"

#include <omp.h>

#include <algorithm>
#include <array>
#include <cstring>

#include "core/error.h"
#include "core/threads/threads.h"
#include "kernels/cpu/floats.h"
#include "kernels/cpu/post_ops_lanes.h"
#include "kernels/devices.h"

namespace cortado::kernels {

int64_t onednn_primitives_made(Context& context) { return context.handle<onednn::Library>().primitives_made; }

}  // namespace cortado::kernels

namespace cortado::kernels::onednn {

dnnl::memory::data_type data_type(DType dtype) {
  using Type = dnnl::memory::data_type;
  switch (dtype) {
    case DType::kF32:
      return Type::f32;
    case DType::kF16:
      return Type::f16;
    case DType::kBF16:
      return Type::bf16;
    case DType::kI32:
      return Type::s32;
    case DType::kU8:
      return Type::u8;
    case DType::kS8:
      return Type::s8;
    case DType::kF64:
      break;
  }
  throw_internal("oneDNN does not support 64-bit floats");
}

void copy(Context& context, const Desc& from, const void* source, const Desc& to, void* target,
          const Factors& factors) {
  const OneThread alone;
  Library& lib = library(context);
  dnnl::primitive_attr attributes;
  factors.add_to(attributes);
  const dnnl::reorder::primitive_desc pd(lib.engine, from, lib.engine, to, attributes);
  Primitive(lib, dnnl::reorder(pd), {{DNNL_ARG_FROM, from}, {DNNL_ARG_TO, to}}, factors).run({source, target});
}

namespace {

dnnl::memory::dims dims_of(const Shape& shape) {
  if (shape.axes() == 0) return {1};
  return dnnl::memory::dims(shape.dims().begin(), shape.dims().end());
}

Desc row_major(const Shape& shape, DType dtype) {
  const dnnl::memory::dims dims = dims_of(shape);
  dnnl::memory::dims strides(dims.size(), 1);
  for (size_t i = dims.size() - 1; i > 0; --i) strides[i - 1] = strides[i] * std::max<int64_t>(1, dims[i]);
  return Desc(dims, data_type(dtype), strides);
}

struct Storage final : WeightFormat::Opaque {
  Storage(const Desc& plain, const Desc& stored) : plain(plain), stored(stored) {}

  int64_t bytes() const override { return (int64_t(stored.get_size()) + 3) / 4 * 4; }
  bool equals(const Opaque& other) const override {
    const auto* same = dynamic_cast<const Storage*>(&other);
    return same && same->stored == stored;
  }
  DType dtype() const override {
    return value_type(stored) == dnnl::memory::data_type::bf16 ? DType::kBF16 : DType::kF32;
  }
  bool reversible() const override { return dtype() == DType::kF32; }
  std::string name() const override {
    std::string text = dtype() == DType::kF32 ? "onednn" : "onednn " + name_of(dtype());
    const char* separator = ":";
    for (const Block& block : inner_blocks(stored)) {
      text += separator + std::to_string(block.extent) + char('a' + block.axis);
      separator = "x";
    }
    return text;
  }
  void to_plain(Context& context, const void* source, float* target) const override {
    const auto whole = with_padding(stored, plain);
    if (!whole) return copy(context, stored, source, plain, target);
    std::vector<float> values(whole->plain.get_size() / sizeof(float));
    copy(context, whole->stored, source, whole->plain, values.data());
    const dnnl::memory::dims origin(extents(plain).size(), 0);
    copy(context, whole->plain.submemory_desc(extents(plain), origin), values.data(), plain, target);
  }
  void from_plain(Context& context, const float* source, void* target) const override {
    std::memset(target, 0, size_t(bytes()));
    copy(context, plain, source, stored, target);
  }

  Desc plain, stored;
};

}  // namespace

Library& library(Context& context) { return context.handle<Library>(); }

OneThread::OneThread() : before_(omp_get_max_threads()) {
  if (before_ > 1) omp_set_num_threads(1);
}

OneThread::~OneThread() {
  if (before_ > 1) omp_set_num_threads(before_);
}

Cut cut_of(const Context& context, int64_t n, double work) {
  constexpr double kWorkOfPiece = 1 << 15;
  return {n, even_pieces(std::min({double(n), double(context.pieces), work / kWorkOfPiece}))};
}

Desc describe(const TensorSpec& spec) {
  using Tag = dnnl::memory::format_tag;
  if (spec.layout == Layout::kPlain) return row_major(spec.shape, spec.dtype);
  return Desc(dims_of(spec.shape), data_type(spec.dtype), spec.layout == Layout::kBlocked16 ? Tag::nChw16c : Tag::nhwc);
}

dnnl::post_ops describe(const PostOps& post, const Encoding& y, const Encoding& z) {
  dnnl::post_ops after;
  if (post.sum && is_8_bit(z.dtype))
    after.append_sum(y.scale / z.scale, 0, data_type(z.dtype));
  else if (post.sum)
    after.append_sum(y.scale / z.scale);
  switch (post.activation.kind) {
    case Activation::kNone:
      break;
    case Activation::kRelu:
      append_eltwise(after, dnnl::algorithm::eltwise_relu, 0.0f, 0.0f);
      break;
    case Activation::kClippedRelu:
      append_eltwise(after, dnnl::algorithm::eltwise_clip, 0.0f, post.activation.ceiling * y.scale);
      break;
    case Activation::kSigmoid:
      append_eltwise(after, dnnl::algorithm::eltwise_logistic, 0.0f, 0.0f);
      break;
    case Activation::kSwish:
      append_eltwise(after, dnnl::algorithm::eltwise_swish, 1.0f, 0.0f);
      break;
    case Activation::kGelu:
      append_eltwise(after, dnnl::algorithm::eltwise_gelu_erf, 0.0f, 0.0f);
      break;
  }
  return after;
}

bool needs_finite(const PostOps& post) {
  return post.activation &&
         (post.activation.gates() || (kGeluOfInfinityIsNaN && post.activation.kind == Activation::kGelu));
}

PostOps without_activation(PostOps post) {
  post.activation = {};
  return post;
}

void activate(Context& context, const Activation& activation, DType dtype, void* y, int64_t n) {
  with_half_type(dtype, [&](auto type) {
    auto* values = static_cast<decltype(type)*>(y);
    parallel_ranges(context, n, 4096, [&](int64_t begin, int64_t end) {
      with_activation(activation.kind, [&](auto kind) {
        const Activation known{kind, activation.ceiling};
        for (int64_t i = begin; i < end; ++i) values[i] = decltype(type)(known(float(values[i])));
      });
    });
  });
}

Desc plain_desc(const Shape& shape) { return row_major(shape, DType::kF32); }

Desc any_desc(const Shape& shape, DType dtype) {
  return Desc(dims_of(shape), data_type(dtype), dnnl::memory::format_tag::any);
}

Desc blocked16_desc(const Desc& plain) {
  using Tag = dnnl::memory::format_tag;
  const auto dims = extents(plain);
  const bool groups = dims.size() == 5, depthwise = groups && dims[0] > 1 && dims[1] == 1 && dims[2] == 1;
  const Tag tag = depthwise ? Tag::Goihw16g : groups ? Tag::gOIhw16i16o : Tag::OIhw16i16o;
  return Desc(dims, dnnl::memory::data_type::f32, tag);
}

int64_t block_of(const Desc& desc) {
  int64_t block = 1;
  for (const Block& inner : inner_blocks(desc))
    if (inner.axis == 0) block *= inner.extent;
  return block;
}

std::optional<Desc> with_outputs(const Desc& w, int64_t outputs) {
  using Tag = dnnl::memory::format_tag;
  dnnl::memory::dims dims = extents(w);
  if (dims[0] == outputs) return w;
  const std::vector<Tag> known =
      dims.size() == 4   ? std::vector<Tag>{Tag::oihw,   Tag::OIhw16i16o, Tag::Ohwi16o, Tag::OIhw8i8o,
                                            Tag::Ohwi8o, Tag::Acdb32a,    Tag::Acdb64a, Tag::OIhw8i16o2i}
      : dims.size() == 2 ? std::vector<Tag>{Tag::oi, Tag::AB16b64a, Tag::AB16b32a, Tag::AB16b16a}
                         : std::vector<Tag>{};
  for (const Tag tag : known) {
    if (!(Desc(dims, value_type(w), tag) == w)) continue;
    dims[0] = outputs;
    return Desc(dims, value_type(w), tag);
  }
  return {};
}

dnnl::primitive_attr user_scratchpad() {
  dnnl::primitive_attr attr;
  attr.set_scratchpad_mode(dnnl::scratchpad_mode::user);
  return attr;
}

bool is_reference(const std::string& impl) {
  return impl.compare(0, 3, "ref") == 0 || impl.find(":ref") != std::string::npos;
}

WeightFormat weight_format(const Shape& shape, const Desc& plain, const Desc& stored) {
  if (plain == stored) return WeightFormat(shape);
  const size_t axes = extents(plain).size();
  if ((axes == 4 || axes == 5) && stored == blocked16_desc(plain))
    return WeightFormat::blocked16(shape, axes == 5 ? extents(plain)[0] : 1);
  return WeightFormat(shape, std::make_shared<Storage>(plain, stored));
}

Desc stored_desc(const WeightFormat& format, const Desc& plain) {
  if (format.is_plain()) return plain;
  if (format.is_blocked16()) return blocked16_desc(plain);
  const auto* storage = dynamic_cast<const Storage*>(format.opaque());
  if (!storage) throw_internal("a weight has another library's format");
  return storage->stored;
}

Primitive::Primitive(Library& library, dnnl::primitive primitive, const std::vector<std::pair<int, Desc>>& arguments,
                     const Factors& factors)
    : primitive_(std::move(primitive)), stream_(library.engine), bound_(arguments.size(), nullptr) {
  ++library.primitives_made;
  const auto add = [&](int name, dnnl::memory memory) {
    arguments_.push_back({name, memory.get()});
    memories_.push_back(std::move(memory));
  };
  for (const auto& [name, desc] : arguments) add(name, dnnl::memory(desc, library.engine, DNNL_MEMORY_NONE));
  for (auto& [name, memory] : factors.operands(library.engine)) add(name, std::move(memory));
}

void Primitive::run(std::span<const void* const> pointers) {
  if (pointers.size() != bound_.size()) throw_internal("a oneDNN primitive got the wrong number of operands");
  for (size_t i = 0; i < pointers.size(); ++i) {
    if (bound_[i] != pointers[i]) memories_[i].set_data_handle(const_cast<void*>(pointers[i]));
    bound_[i] = pointers[i];
  }
  const OneThread alone;
  const auto status =
      dnnl_primitive_execute(primitive_.get(), stream_.get(), int(arguments_.size()), arguments_.data());
  if (status != dnnl_success) throw_internal("oneDNN failed to run a primitive");
}

void PrimitivePieces::add(Library& library, const dnnl::primitive& primitive, const std::vector<Operand>& operands,
                          const Factors& factors) {
  if (operands.size() > kMaxOperands) throw_internal("a oneDNN primitive has too many operands");
  ends_.resize(operands.size());
  std::vector<std::pair<int, Desc>> arguments;
  Piece& piece = pieces_.emplace_back();
  for (size_t i = 0; i < operands.size(); ++i) {
    const auto& [name, desc, sharing, offset] = operands[i];
    arguments.emplace_back(name, desc);
    piece.offsets.push_back(sharing == Sharing::kAt ? offset : ends_[i]);
    const int64_t size = int64_t(desc.get_size());
    ends_[i] += sharing == Sharing::kScratch ? (size + 63) / 64 * 64 : size;
  }
  piece.primitive = Primitive(library, primitive, arguments, factors);
}

void PrimitivePieces::run(Context& context, std::initializer_list<const void*> pointers) {
  in_pieces(context, int64_t(pieces_.size()), [&](int64_t i, int) {
    Piece& piece = pieces_[size_t(i)];
    std::array<const void*, kMaxOperands> own;
    for (size_t k = 0; k < pointers.size(); ++k)
      own[k] = scratch_part(const_cast<void*>(pointers.begin()[k]), piece.offsets[k]);
    piece.primitive.run({own.data(), pointers.size()});
  });
}

namespace {

/// The piece from `begin` to `end` of the outermost axis.
Desc piece_of(const Desc& whole, int64_t begin, int64_t end) {
  dnnl::memory::dims dims = extents(whole), origin(dims.size(), 0);
  dims[0] = end - begin;
  origin[0] = begin;
  return whole.submemory_desc(dims, origin);
}

}  // namespace

Reorder::Reorder(Library& library, const Desc& from, const Desc& to, ScratchLayout& scratch, int pieces, float scale) {
  dnnl::primitive_attr attributes = user_scratchpad();
  const Factors factors = scale == 1 ? Factors() : Factors::of_reorder({scale});
  factors.add_to(attributes);
  constexpr int64_t kBytesOfPiece = 1 << 16;
  const int64_t extent = extents(from)[0], block = std::max(block_of(from), block_of(to)),
                blocks = (extent + block - 1) / block;
  const int64_t most = std::min<int64_t>(pieces, int64_t(to.get_size()) / kBytesOfPiece);
  const Cut cut{blocks, std::clamp<int64_t>(most, 1, blocks)};
  for (int64_t i = 0; i < cut.pieces; ++i) {
    const int64_t begin = cut.begin(i) * block, end = std::min(extent, cut.begin(i + 1) * block);
    const Desc source = cut.pieces > 1 ? piece_of(from, begin, end) : from;
    const Desc target = cut.pieces > 1 ? piece_of(to, begin, end) : to;
    const dnnl::reorder::primitive_desc pd(library.engine, source, library.engine, target, attributes);
    const Desc pad = pd.scratchpad_desc();
    pieces_.push_back({Primitive(library, dnnl::reorder(pd),
                                 {{DNNL_ARG_FROM, source}, {DNNL_ARG_TO, target}, {DNNL_ARG_SCRATCHPAD, pad}}, factors),
                       scratch.add(int64_t(pad.get_size()))});
  }
}

void Reorder::run(Context& context, const void* from, void* to, void* scratch) {
  in_pieces(context, int64_t(pieces_.size()), [&](int64_t i, int) {
    Piece& piece = pieces_[size_t(i)];
    piece.primitive.run({from, to, scratch_part(scratch, piece.pad)});
  });
}

Staged::Staged(Library& library, const Desc& outside, const Desc& inside, Way way, ScratchLayout& scratch, int pieces) {
  if (outside == inside) return;
  offset_ = scratch.add(int64_t(inside.get_size()));
  reorder_ = way == Way::kIn ? Reorder(library, outside, inside, scratch, pieces)
                             : Reorder(library, inside, outside, scratch, pieces);
}

const void* Staged::load(Context& context, const void* outside, void* scratch) {
  if (!copies()) return outside;
  void* inside = scratch_part(scratch, offset_);
  reorder_.run(context, outside, inside, scratch);
  return inside;
}

void* Staged::target(void* outside, void* scratch) const { return copies() ? scratch_part(scratch, offset_) : outside; }

void Staged::store(Context& context, void* outside, void* scratch) {
  if (copies()) reorder_.run(context, scratch_part(scratch, offset_), outside, scratch);
}

void add_to(Context& context, float* sum, const float* more, int64_t n, int64_t parts) {
  if (parts == 0) return;
  parallel_ranges(context, n, 4096, [&](int64_t begin, int64_t end) {
    constexpr int64_t kBlock = 1024;  // stays in the first-level cache
    for (int64_t from = begin; from < end; from += kBlock)
      for (int64_t part = 0; part < parts; ++part) {
        const float* values = more + part * n;
        const int64_t to = std::min(end, from + kBlock);
#pragma GCC ivdep
        for (int64_t i = from; i < to; ++i) sum[i] += values[i];
      }
  });
}

}  // namespace cortado::kernels::onednn
