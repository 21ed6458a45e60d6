// Inner product of bfloat16 values by candidates for 32-bit floats. The weights dominate the traffic and are 32-bit
// floats anyway; rounding them first would read them twice.

#include "kernels/cpu/as_floats/as_floats.h"
#include "kernels/cpu/floats.h"
#include "kernels/inner_product.h"

namespace cortado::kernels {
namespace {

class AsFloats final : public InnerProduct {
 public:
  AsFloats(const InnerProductRequest& request, std::unique_ptr<InnerProduct> inner)
      : inner_(std::move(inner)),
        pad_(layout_.add(std::max(inner_->forward_scratch(), inner_->backward_scratch()))),
        x_(request.rows * request.inputs, layout_),
        y_(request.rows * request.outputs, layout_) {}

  std::string name() const override { return inner_->name() + " as floats"; }
  WeightFormat weight_format() const override { return inner_->weight_format(); }
  int64_t forward_scratch() const override { return layout_.bytes(); }
  int64_t backward_scratch() const override { return layout_.bytes(); }

  void forward(Context& context, const void* x, const void* w, const void* bias, void* y, void* scratch) override {
    inner_->forward(context, x_.load(context, x, scratch), w, bias, y_.target(scratch), scratch_part(scratch, pad_));
    y_.store(context, scratch, y);
  }
  int64_t turned_bytes() const override { return inner_->turned_bytes(); }
  const float* turn(Context& context, const float* w, void* turned, void* scratch) override {
    return inner_->turn(context, w, turned, scratch_part(scratch, pad_));
  }
  void backward_data(Context& context, const void* dy, const float* w, void* dx, void* scratch) override {
    inner_->backward_data(context, y_.load(context, dy, scratch), w, x_.target(scratch), scratch_part(scratch, pad_));
    x_.store(context, scratch, dx);
  }
  void backward_weights(Context& context, const void* x, const void* dy, const WeightGradients& d,
                        void* scratch) override {
    inner_->backward_weights(context, x_.load(context, x, scratch), y_.load(context, dy, scratch), d,
                             scratch_part(scratch, pad_));
  }

 private:
  std::unique_ptr<InnerProduct> inner_;
  ScratchLayout layout_;
  int64_t pad_;
  FloatCopy x_, y_;
};

}  // namespace

std::unique_ptr<InnerProduct> make_inner_product_as_floats(const InnerProductRequest& request, Context& context,
                                                           std::string& why) {
  if (!takes_bfloat16(request.dtype, why)) return nullptr;
  InnerProductRequest floats = request;
  floats.dtype = DType::kF32;
  return std::make_unique<AsFloats>(request, plan_inner_product(floats, context));
}

}  // namespace cortado::kernels
