// Layouts changed by oneDNN, which writes zeros into padding lanes itself.

#include "kernels/cpu/floats.h"
#include "kernels/cpu/onednn/onednn.h"
#include "kernels/reorder.h"

namespace cortado::kernels {
namespace {

class OneDnn final : public Reorder {
 public:
  OneDnn(Context& context, const TensorSpec& from, const TensorSpec& to)
      : reorder_(onednn::library(context), onednn::describe(from), onednn::describe(to), layout_,
                 to.scale / from.scale) {}

  std::string name() const override { return "onednn"; }
  int64_t scratch() const override { return layout_.bytes(); }
  void run(Context& context, const void* from, void* to, void* scratch) override {
    reorder_.run(onednn::library(context), from, to, scratch);
  }

 private:
  ScratchLayout layout_;
  onednn::Reorder reorder_;
};

}  // namespace

std::unique_ptr<Reorder> make_reorder_onednn(const ReorderRequest& request, Context& context, std::string& why) {
  for (const DType dtype : {request.from.dtype, request.to.dtype})
    if (!is_8_bit(dtype) && !takes_halves(dtype, why)) return nullptr;
  if (request.from.shape.count() == 0) return why = "no elements", nullptr;
  return onednn::attempt(
      why, [&]() -> std::unique_ptr<Reorder> { return std::make_unique<OneDnn>(context, request.from, request.to); });
}

}  // namespace cortado::kernels
