#pragma once

// Common code of the oneDNN candidates. Only files in this folder include it, so that the library's types stay here.
// Setting a memory object's pointer makes oneDNN 2.6 zero the padding lanes at that pointer. Primitive therefore binds
// pointers only when it runs, while the operands are alive, and only if they changed.

#include <initializer_list>
#include <memory>
#include <oneapi/dnnl/dnnl.hpp>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "core/context.h"
#include "core/tensor.h"
#include "kernels/cpu/onednn/versions.h"
#include "kernels/post_ops.h"
#include "kernels/scratch.h"
#include "kernels/weight_format.h"

namespace cortado::kernels {
struct ConvShape;
}

namespace cortado::kernels::onednn {

/// The library's handles, one set per Context.
struct Library {
  dnnl::engine engine{dnnl::engine::kind::cpu, 0};
  int64_t primitives_made = 0;
};

Library& library(Context& context);

/// During its lifetime the library uses only the calling thread, not a team of OpenMP's. Primitives are created and run
/// so, each for a piece of work that one of our threads takes (core/threads/threads.h).
class OneThread {
 public:
  OneThread();
  ~OneThread();
  OneThread(const OneThread&) = delete;
  OneThread& operator=(const OneThread&) = delete;

 private:
  int before_;
};

/// [0, n) in pieces whose sizes differ by at most one.
struct Cut {
  int64_t n, pieces;

  int64_t begin(int64_t piece) const { return n * piece / pieces; }
  int64_t size(int64_t piece) const { return begin(piece + 1) - begin(piece); }
};
/// Of n equal parts of `work`, in units of values moved or of 16 products: enough in each piece to justify a thread.
Cut cut_of(const Context& context, int64_t n, double work);

dnnl::memory::data_type data_type(DType dtype);
/// Whether a convolution exceeds oneDNN's 32-bit extents and byte counts per image.
bool too_large(const ConvShape& shape);

/// The descriptor of a tensor: with four axes plain, channels_last or blocked16, otherwise row-major.
Desc describe(const TensorSpec& spec);
/// Row-major 32-bit floats; a scalar becomes one axis of extent 1.
Desc plain_desc(const Shape& shape);
/// The post-ops of a forward primitive, without affine steps. A sum adds the previous content of the result, encoded as
/// `z`; the result is encoded as `y`.
dnnl::post_ops describe(const PostOps& post, const Encoding& y = {}, const Encoding& z = {});
/// Whether the library's fused activation of `post` is right for finite values only. A ReLU, which it computes as a
/// maximum with 0, turns NaN into 0 and would hide divergence. If other values are possible, create the primitive with
/// without_activation(post) and call activate() after it.
bool needs_finite(const PostOps& post);
PostOps without_activation(PostOps post);
/// In place on n values, 32-bit floats or bfloat16.
void activate(Context& context, const Activation& activation, DType dtype, void* y, int64_t n);
/// Any format: the primitive descriptor chooses.
Desc any_desc(const Shape& shape, DType dtype = DType::kF32);
/// The equivalent of WeightFormat::blocked16 for weights with descriptor `plain`.
Desc blocked16_desc(const Desc& plain);

/// The extent of a block of the first axis: a power of two.
int64_t block_of(const Desc& desc);
/// The format of weights `w` for another number of outputs, the first axis: that of a slice of w. nullopt if the
/// outputs of w are not outermost.
std::optional<Desc> with_outputs(const Desc& w, int64_t outputs);

/// With this attribute the caller passes the scratchpad, which the memory planner provides.
dnnl::primitive_attr user_scratchpad();

/// The implementation's name ("jit:avx512_core"), and whether it is a slow reference implementation.
template <typename PrimitiveDesc>
std::string impl_of(const PrimitiveDesc& pd) {
  return pd.impl_info_str();
}
bool is_reference(const std::string& impl);

/// Calls make() in OneThread; if the library throws, returns an empty result and sets `why`. For candidates.
template <typename Make>
auto attempt(std::string& why, const Make& make) -> decltype(make()) {
  const OneThread alone;
  try {
    return make();
  } catch (const dnnl::error& error) {
    why = error.message;
    return {};
  }
}

/// A single conversion, for weights and their plain format.
void copy(Context& context, const Desc& from, const void* source, const Desc& to, void* target,
          const Factors& factors = {});

/// The format of a weight of the user's `shape` stored as `stored`. `plain` describes the row-major order with the axes
/// of `stored`, which has an additional one for groups. Plain storage yields a plain WeightFormat.
WeightFormat weight_format(const Shape& shape, const Desc& plain, const Desc& stored);
/// The descriptor of a weight's format; `plain` for plain ones. Throws an internal error for another library's format.
Desc stored_desc(const WeightFormat& format, const Desc& plain);

/// A primitive with its argument list, created once. Running it does not allocate on our side.
class Primitive {
 public:
  Primitive() = default;
  /// `arguments` are (DNNL_ARG_..., descriptor). run() takes the pointers in the same order. `factors` are those of the
  /// primitive's attributes.
  Primitive(Library& library, dnnl::primitive primitive, const std::vector<std::pair<int, Desc>>& arguments,
            const Factors& factors = {});

  explicit operator bool() const { return bool(primitive_); }
  /// Runs in the calling thread. A pointer may be null only for an argument of zero bytes. Throws an internal error if
  /// oneDNN fails. Several threads may run different primitives at the same time.
  void run(std::initializer_list<const void*> pointers) { run({pointers.begin(), pointers.size()}); }
  void run(std::span<const void* const> pointers);

 private:
  dnnl::primitive primitive_;
  dnnl::stream stream_;
  std::vector<dnnl::memory> memories_;
  std::vector<dnnl_exec_arg_t> arguments_;
  std::vector<const void*> bound_;
};

/// How the pieces of an operation use one of its operands.
enum class Sharing {
  kDivided,  ///< each has its part, one after the other in memory
  kAt,       ///< each has its `offset`; parts may overlap, or be the whole
  kScratch   ///< like kDivided, but the parts are aligned
};

struct Operand {
  int name;   ///< DNNL_ARG_...
  Desc desc;  ///< of a piece
  Sharing sharing = Sharing::kDivided;
  int64_t offset = 0;  ///< in bytes, for kAt
};

/// An operation in pieces: a primitive for each, with the same operands in the same order.
class PrimitivePieces {
 public:
  /// Adds a piece.
  void add(Library& library, const dnnl::primitive& primitive, const std::vector<Operand>& operands,
           const Factors& factors = {});
  /// Runs all on the threads of `context`. `pointers` are those of whole operands.
  void run(Context& context, std::initializer_list<const void*> pointers);
  /// The size of a whole divided operand.
  int64_t bytes(size_t operand) const { return ends_.empty() ? 0 : ends_[operand]; }

 private:
  struct Piece {
    Primitive primitive;
    std::vector<int64_t> offsets;
  };
  static constexpr size_t kMaxOperands = 8;

  std::vector<Piece> pieces_;
  std::vector<int64_t> ends_;
};

/// Converts between formats and multiplies all values by `scale`, in pieces of the first axis. Reserves its scratchpad
/// in `scratch`.
class Reorder {
 public:
  Reorder() = default;
  /// In at most `pieces` pieces.
  Reorder(Library& library, const Desc& from, const Desc& to, ScratchLayout& scratch, int pieces, float scale = 1);
  explicit operator bool() const { return !pieces_.empty(); }
  /// `scratch` is the block that the constructor's layout describes.
  void run(Context& context, const void* from, void* to, void* scratch);

 private:
  struct Piece {
    Primitive primitive;
    int64_t pad;  ///< offset of its scratchpad
  };

  std::vector<Piece> pieces_;
};

/// An operand whose format differs between the caller (`outside`) and the primitive (`inside`, in scratch). If they
/// agree, nothing is copied and the caller's memory is used. `scratch` is always the block that the constructor's
/// layout describes.
class Staged {
 public:
  enum class Way { kIn, kOut };

  Staged() = default;
  /// Copies in at most `pieces` pieces.
  Staged(Library& library, const Desc& outside, const Desc& inside, Way way, ScratchLayout& scratch, int pieces);
  bool copies() const { return bool(reorder_); }
  /// For inputs: converts and returns what the primitive reads.
  const void* load(Context& context, const void* outside, void* scratch);
  /// For outputs: the memory that the primitive writes, and the conversion afterwards.
  void* target(void* outside, void* scratch) const;
  void store(Context& context, void* outside, void* scratch);

 private:
  Reorder reorder_;
  int64_t offset_ = 0;
};

/// sum[i] += more[i] + more[n + i] + ..., in the order of the `parts` of n values each.
void add_to(Context& context, float* sum, const float* more, int64_t n, int64_t parts = 1);

}  // namespace cortado::kernels::onednn
