// Conversions by oneDNN, which zeros padding lanes itself.

#include <cmath>

#include "core/error.h"
#include "kernels/cpu/floats.h"
#include "kernels/cpu/largest_magnitude.h"
#include "kernels/cpu/onednn/onednn.h"
#include "kernels/reorder.h"

namespace cortado::kernels {
namespace {

/// Integers have no NaN: the library would store an arbitrary number, and the net's output would look valid.
void refuse_nan(Context& context, const void* values, const TensorSpec& spec) {
  if (std::isnan(largest_magnitude(context, values, spec.dtype, spec.elements())))
    throw Error(ExitCode::kDiverged, "a value to convert to an 8-bit integer is NaN",
                "check the input for NaN, or remove quantization_param from the net");
}

class OneDnn final : public Reorder {
 public:
  OneDnn(Context& context, const TensorSpec& from, const TensorSpec& to)
      : from_(from),
        rounds_to_integers_(is_8_bit(to.dtype) && !is_8_bit(from.dtype)),
        reorder_(onednn::library(context), onednn::describe(from), onednn::describe(to), layout_, context.pieces,
                 to.scale / from.scale) {}

  std::string name() const override { return "onednn"; }
  int64_t scratch() const override { return layout_.bytes(); }
  void run(Context& context, const void* from, void* to, void* scratch) override {
    if (rounds_to_integers_) refuse_nan(context, from, from_);
    reorder_.run(context, from, to, scratch);
  }

 private:
  TensorSpec from_;
  bool rounds_to_integers_;
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
