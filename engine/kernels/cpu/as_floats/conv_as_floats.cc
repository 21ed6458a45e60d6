// Convolution of bfloat16 values by candidates for 32-bit floats, each of which becomes a candidate here. Winograd,
// few-channel and depthwise kernels may be faster than bfloat16 multiplication.

#include "kernels/conv.h"
#include "kernels/cpu/as_floats/as_floats.h"
#include "kernels/cpu/floats.h"

namespace cortado::kernels {
namespace {

constexpr double kBytesPerSecond = 6e9;  ///< of one core, read and written

ConvRequest of_floats(ConvRequest request) {
  request.shape.dtype = DType::kF32;
  return request;
}

class AsFloats final : public ConvKernel {
 public:
  AsFloats(const ConvRequest& request, ConvDirection direction, std::unique_ptr<ConvKernel> inner)
      : direction_(direction),
        sums_(request.post.sum),
        inner_(std::move(inner)),
        pad_(layout_.add(inner_->scratch())),
        x_(request.shape.x().elements(), layout_),
        y_(request.shape.y().elements(), layout_) {}

  std::string name() const override { return inner_->name() + " as floats"; }
  WeightFormat weight_format() const override { return inner_->weight_format(); }
  WeightFormat bias_format() const override { return inner_->bias_format(); }
  int64_t scratch() const override { return layout_.bytes(); }

  void run(Context& context, const ConvOperands& io, void* scratch) override {
    ConvOperands call = io;
    void* const pad = scratch_part(scratch, pad_);
    switch (direction_) {
      case ConvDirection::kForward:
        call.x = x_.load(context, io.x, scratch);
        call.y = sums_ ? y_.load(context, io.z, scratch) : y_.target(scratch);
        call.z = call.y;
        inner_->run(context, call, pad);
        return y_.store(context, scratch, io.y);
      case ConvDirection::kBackwardData:
        call.dy = y_.load(context, io.dy, scratch);
        call.dx = x_.target(scratch);
        inner_->run(context, call, pad);
        return x_.store(context, scratch, io.dx);
      case ConvDirection::kBackwardWeights:
        call.x = x_.load(context, io.x, scratch);
        call.dy = y_.load(context, io.dy, scratch);
        return inner_->run(context, call, pad);
    }
  }

 private:
  ConvDirection direction_;
  bool sums_;
  std::unique_ptr<ConvKernel> inner_;
  ScratchLayout layout_;
  int64_t pad_;
  FloatCopy x_, y_;
};

ConvCandidate as_floats(const ConvCandidate& of) {
  ConvCandidate made = of;
  made.name = of.name + "-floats";
  made.make = [make = of.make](const ConvRequest& request, ConvDirection direction, Context& context,
                               std::string& why) -> std::unique_ptr<ConvKernel> {
    if (!takes_bfloat16(request.shape.dtype, why)) return nullptr;
    auto inner = make(of_floats(request), direction, context, why);
    if (!inner) return nullptr;
    return std::make_unique<AsFloats>(request, direction, std::move(inner));
  };
  made.cost = [cost = of.cost](const ConvRequest& request, ConvDirection direction, CpuLevel level) {
    const double values = double(request.shape.x().shape.count()) + double(request.shape.y().shape.count());
    return cost(of_floats(request), direction, level) + 6 * values / kBytesPerSecond;
  };
  return made;
}

}  // namespace

std::vector<ConvCandidate> conv_candidates_as_floats(const std::vector<ConvCandidate>& of) {
  std::vector<ConvCandidate> made;
  for (const ConvCandidate& candidate : of) made.push_back(as_floats(candidate));
  return made;
}

}  // namespace cortado::kernels
