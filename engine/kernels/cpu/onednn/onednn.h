#pragma once

// Everything that the oneDNN candidates share. Included by files named *onednn* in this folder alone, so that the
// library's types stay here. Its one surprise: giving a memory object its pointer makes oneDNN zero the padding lanes
// behind that pointer. Primitive therefore binds pointers when it runs (when the operand is alive) and only when they
// changed.

#include <initializer_list>
#include <memory>
#include <oneapi/dnnl/dnnl.hpp>
#include <string>
#include <utility>
#include <vector>

#include "core/context.h"
#include "core/tensor.h"
#include "kernels/post_ops.h"
#include "kernels/scratch.h"
#include "kernels/weight_format.h"

namespace cortado::kernels {
struct ConvShape;
}

namespace cortado::kernels::onednn {

using Desc = dnnl::memory::desc;

/// The library's handles; one per Context.
struct Library {
  dnnl::engine engine{dnnl::engine::kind::cpu, 0};
  dnnl::stream stream{engine};
  int64_t primitives_made = 0;
};

/// The handles of `context`; makes its thread count the one that oneDNN sees in this thread. Call before making
/// primitives and before running them.
Library& library(Context& context);

dnnl::memory::data_type data_type(DType dtype);
/// oneDNN counts extents, and bytes within one image, in 32 bits.
bool too_large(const ConvShape& shape);

/// A tensor as oneDNN sees it: four axes plain, channels_last or blocked16; other numbers of axes row major.
Desc describe(const TensorSpec& spec);
/// Row-major 32-bit floats; a scalar becomes one axis of 1.
Desc plain_desc(const Shape& shape);
/// What follows a forward primitive, but for affine steps. A sum is with what the result holds, encoded as `z`; the
/// result is as `y`.
dnnl::post_ops describe(const PostOps& post, const Encoding& y = {}, const Encoding& z = {});
/// Whether `post` ends in a ReLU, which the library does as a maximum with 0: it makes 0 of NaN, and a net that
/// diverged must not look sound. Where NaN may come, a primitive has before_clip(post) and clip() follows.
bool clips(const PostOps& post);
PostOps before_clip(PostOps post);
/// In place, over n values of 32-bit floats or bfloat16.
void clip(Context& context, const Activation& activation, DType dtype, void* y, int64_t n);
/// Any storage: the primitive descriptor chooses.
Desc any_desc(const Shape& shape, DType dtype = DType::kF32);
/// What WeightFormat::blocked16 is of weights that `plain` describes.
Desc blocked16_desc(const Desc& plain);

/// Primitives with this attribute take their scratchpad as an argument, out of the planner's memory.
dnnl::primitive_attr user_scratchpad();

/// The implementation's name ("jit:avx512_core"), and whether it is one of the slow general ones.
template <typename PrimitiveDesc>
std::string impl_of(const PrimitiveDesc& pd) {
  return pd.impl_info_str();
}
bool is_reference(const std::string& impl);

/// make(), or nothing where the library refuses; then `why` says so. For use inside candidates.
template <typename Make>
auto attempt(std::string& why, const Make& make) -> decltype(make()) {
  try {
    return make();
  } catch (const dnnl::error& error) {
    why = error.message;
    return {};
  }
}

/// Copies once, on the way to weights or back.
void copy(Context& context, const Desc& from, const void* source, const Desc& to, void* target,
          const dnnl::primitive_attr& attributes = {});

/// A weight of the user's `shape` stored as `stored`. `plain` describes the user's row-major order in the dimensions of
/// `stored` (a grouped convolution has one more than the user sees). Plain storage gives a plain WeightFormat.
WeightFormat weight_format(const Shape& shape, const Desc& plain, const Desc& stored);
/// The storage of a weight; `plain` for plain ones. Throws an internal error when another library owns the format.
Desc stored_desc(const WeightFormat& format, const Desc& plain);

/// A primitive with its argument list, made once. Running it allocates nothing of ours.
class Primitive {
 public:
  Primitive() = default;
  /// `arguments` are (DNNL_ARG_..., descriptor); run() takes the pointers in the same order.
  Primitive(Library& library, dnnl::primitive primitive, const std::vector<std::pair<int, Desc>>& arguments);

  explicit operator bool() const { return bool(primitive_); }
  /// Runs and waits. A pointer is null only for an argument of zero bytes. Throws an internal error if oneDNN fails.
  void run(Library& library, std::initializer_list<const void*> pointers);

 private:
  dnnl::primitive primitive_;
  std::vector<dnnl::memory> memories_;
  std::vector<dnnl_exec_arg_t> arguments_;
  std::vector<const void*> bound_;
};

/// Copies from one storage to another, all values times `scale`. `scratch` gets the bytes it wants.
class Reorder {
 public:
  Reorder() = default;
  Reorder(Library& library, const Desc& from, const Desc& to, ScratchLayout& scratch, float scale = 1);
  explicit operator bool() const { return bool(primitive_); }
  /// `scratch` is the block that the layout given to the constructor describes.
  void run(Library& library, const void* from, void* to, void* scratch);

 private:
  Primitive primitive_;
  int64_t offset_ = 0;
};

/// An operand that a primitive wants stored otherwise than its owner does: `outside` is the owner's storage, `inside`
/// the primitive's, in scratch. Where the two agree, nothing is copied and the owner's memory is used. `scratch` is
/// always the block that the layout given to the constructor describes.
class Staged {
 public:
  enum class Way { kIn, kOut };

  Staged() = default;
  Staged(Library& library, const Desc& outside, const Desc& inside, Way way, ScratchLayout& scratch);
  bool copies() const { return bool(reorder_); }
  /// For inputs: copies in; gives what the primitive reads.
  const void* load(Library& library, const void* outside, void* scratch);
  /// For outputs: where the primitive writes, and the copy out afterwards.
  void* target(void* outside, void* scratch) const;
  void store(Library& library, void* outside, void* scratch);

 private:
  Reorder reorder_;
  int64_t offset_ = 0;
};

/// sum[i] += more[i].
void add_to(Context& context, float* sum, const float* more, int64_t n);

}  // namespace cortado::kernels::onednn
