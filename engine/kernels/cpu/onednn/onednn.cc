#include "kernels/cpu/onednn/onednn.h"

#include <algorithm>
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
  Library& lib = library(context);
  dnnl::primitive_attr attributes;
  factors.add_to(attributes);
  const dnnl::reorder::primitive_desc pd(lib.engine, from, lib.engine, to, attributes);
  Primitive(lib, dnnl::reorder(pd), {{DNNL_ARG_FROM, from}, {DNNL_ARG_TO, to}}, factors).run(lib, {source, target});
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

Library& library(Context& context) {
  use_threads(context.threads);
  Library& lib = context.handle<Library>();
  lib.joins = &context.joins;
  return lib;
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
    : primitive_(std::move(primitive)), bound_(arguments.size(), nullptr) {
  ++library.primitives_made;
  const auto add = [&](int name, dnnl::memory memory) {
    arguments_.push_back({name, memory.get()});
    memories_.push_back(std::move(memory));
  };
  for (const auto& [name, desc] : arguments) add(name, dnnl::memory(desc, library.engine, DNNL_MEMORY_NONE));
  for (auto& [name, memory] : factors.operands(library.engine)) add(name, std::move(memory));
}

void Primitive::run(Library& library, std::initializer_list<const void*> pointers) {
  if (pointers.size() != bound_.size()) throw_internal("a oneDNN primitive got the wrong number of operands");
  size_t i = 0;
  for (const void* pointer : pointers) {
    if (bound_[i] != pointer) memories_[i].set_data_handle(const_cast<void*>(pointer));
    bound_[i++] = pointer;
  }
  if (library_threads() > 1) ++*library.joins;
  const auto status =
      dnnl_primitive_execute(primitive_.get(), library.stream.get(), int(arguments_.size()), arguments_.data());
  if (status != dnnl_success) throw_internal("oneDNN failed to run a primitive");
}

Reorder::Reorder(Library& library, const Desc& from, const Desc& to, ScratchLayout& scratch, float scale) {
  dnnl::primitive_attr attributes = user_scratchpad();
  const Factors factors = scale == 1 ? Factors() : Factors::of_reorder({scale});
  factors.add_to(attributes);
  const dnnl::reorder::primitive_desc pd(library.engine, from, library.engine, to, attributes);
  offset_ = scratch.add(int64_t(pd.scratchpad_desc().get_size()));
  primitive_ =
      Primitive(library, dnnl::reorder(pd),
                {{DNNL_ARG_FROM, from}, {DNNL_ARG_TO, to}, {DNNL_ARG_SCRATCHPAD, pd.scratchpad_desc()}}, factors);
}

void Reorder::run(Library& library, const void* from, void* to, void* scratch) {
  primitive_.run(library, {from, to, scratch_part(scratch, offset_)});
}

Staged::Staged(Library& library, const Desc& outside, const Desc& inside, Way way, ScratchLayout& scratch) {
  if (outside == inside) return;
  offset_ = scratch.add(int64_t(inside.get_size()));
  reorder_ = way == Way::kIn ? Reorder(library, outside, inside, scratch) : Reorder(library, inside, outside, scratch);
}

const void* Staged::load(Library& library, const void* outside, void* scratch) {
  if (!copies()) return outside;
  void* inside = scratch_part(scratch, offset_);
  reorder_.run(library, outside, inside, scratch);
  return inside;
}

void* Staged::target(void* outside, void* scratch) const { return copies() ? scratch_part(scratch, offset_) : outside; }

void Staged::store(Library& library, void* outside, void* scratch) {
  if (copies()) reorder_.run(library, scratch_part(scratch, offset_), outside, scratch);
}

void add_to(Context& context, float* sum, const float* more, int64_t n) {
  parallel_ranges(context, n, 4096, [&](int64_t begin, int64_t end) {
#pragma GCC ivdep
    for (int64_t i = begin; i < end; ++i) sum[i] += more[i];
  });
}

}  // namespace cortado::kernels::onednn
