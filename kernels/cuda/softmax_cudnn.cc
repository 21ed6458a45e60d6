// Softmax by cuDNN, over the channel axis of outer x classes x inner. Whether it takes a type shows only when it runs;
// where it does not, the plain one does, from then on.

#include <climits>
#include <memory>

#include "kernels/cuda/cudnn.h"
#include "kernels/softmax.h"

namespace cortado::kernels {
namespace {

using namespace cudnn;

class Cudnn final : public Softmax {
 public:
  Cudnn(const SoftmaxRequest& r, Context& context) : plain_(make_softmax_generic(r, context, why_)) {
    cudnnTensorDescriptor_t made = nullptr;
    check(cudnnCreateTensorDescriptor(&made), "cudnnCreateTensorDescriptor");
    tensor_ = {made, [](cudnnTensorDescriptor_t tensor) { cudnnDestroyTensorDescriptor(tensor); }};
    check(cudnnSetTensor4dDescriptor(made, CUDNN_TENSOR_NCHW, type_of(r.dtype), int(r.outer), int(r.classes),
                                     int(r.inner), 1),
          "cudnnSetTensor4dDescriptor");
  }

  std::string name() const override { return why_.empty() ? "cudnn" : plain_->name(); }

  void forward(Context& context, const void* x, void* y, void* scratch) override {
    const bool done = takes([&] {
      check(cudnnSoftmaxForward(handle(context), CUDNN_SOFTMAX_ACCURATE, CUDNN_SOFTMAX_MODE_CHANNEL, &kOne, tensor(), x,
                                &kZero, tensor(), y),
            "cudnnSoftmaxForward");
    });
    if (!done) plain_->forward(context, x, y, scratch);
  }
  void backward(Context& context, const void* y, const void* dy, void* dx, void* scratch) override {
    const bool done = takes([&] {
      check(cudnnSoftmaxBackward(handle(context), CUDNN_SOFTMAX_ACCURATE, CUDNN_SOFTMAX_MODE_CHANNEL, &kOne, tensor(),
                                 y, tensor(), dy, &kZero, tensor(), dx),
            "cudnnSoftmaxBackward");
    });
    if (!done) plain_->backward(context, y, dy, dx, scratch);
  }

 private:
  static constexpr float kOne = 1, kZero = 0;
  cudnnTensorDescriptor_t tensor() const { return static_cast<cudnnTensorDescriptor_t>(tensor_.get()); }

  /// Whether the library did it.
  template <typename Call>
  bool takes(const Call& call) {
    return why_.empty() && attempt(why_, [&] { return call(), true; });
  }

  std::shared_ptr<void> tensor_;
  std::string why_;  ///< it does not
  std::unique_ptr<Softmax> plain_;
};

}  // namespace

std::unique_ptr<Softmax> make_softmax_cudnn(const SoftmaxRequest& r, Context& context, std::string& why) {
  if (!cudnn::runs_here(context, why)) return nullptr;
  if (r.outer * r.classes * r.inner == 0) return why = "no elements", nullptr;
  if (r.outer > INT_MAX / r.classes / r.inner) return why = "too large", nullptr;
  return cudnn::attempt(why, [&]() -> std::unique_ptr<Softmax> { return std::make_unique<Cudnn>(r, context); });
}

}  // namespace cortado::kernels
