// Softmax by cuDNN, over the channel axis of outer x classes x inner.

#include <climits>

#include "kernels/cuda/cudnn.h"
#include "kernels/softmax.h"

namespace cortado::kernels {
namespace {

using cudnn::check;

class Cudnn final : public Softmax {
 public:
  explicit Cudnn(const SoftmaxRequest& r) {
    cudnnTensorDescriptor_t made = nullptr;
    check(cudnnCreateTensorDescriptor(&made), "cudnnCreateTensorDescriptor");
    tensor_ = {made, [](cudnnTensorDescriptor_t tensor) { cudnnDestroyTensorDescriptor(tensor); }};
    check(cudnnSetTensor4dDescriptor(made, CUDNN_TENSOR_NCHW, cudnn::type_of(r.dtype), int(r.outer), int(r.classes),
                                     int(r.inner), 1),
          "cudnnSetTensor4dDescriptor");
  }

  std::string name() const override { return "cudnn"; }

  void forward(Context& context, const void* x, void* y, void*) override {
    check(cudnnSoftmaxForward(cudnn::handle(context), CUDNN_SOFTMAX_ACCURATE, CUDNN_SOFTMAX_MODE_CHANNEL, &kOne,
                              tensor(), x, &kZero, tensor(), y),
          "cudnnSoftmaxForward");
  }
  void backward(Context& context, const void* y, const void* dy, void* dx, void*) override {
    check(cudnnSoftmaxBackward(cudnn::handle(context), CUDNN_SOFTMAX_ACCURATE, CUDNN_SOFTMAX_MODE_CHANNEL, &kOne,
                               tensor(), y, tensor(), dy, &kZero, tensor(), dx),
          "cudnnSoftmaxBackward");
  }

 private:
  static constexpr float kOne = 1, kZero = 0;
  cudnnTensorDescriptor_t tensor() const { return static_cast<cudnnTensorDescriptor_t>(tensor_.get()); }

  std::shared_ptr<void> tensor_;
};

}  // namespace

std::unique_ptr<Softmax> make_softmax_cudnn(const SoftmaxRequest& r, Context& context, std::string& why) {
  if (!cudnn::runs_here(context, why)) return nullptr;
  if (r.outer * r.classes * r.inner == 0) return why = "no elements", nullptr;
  if (r.outer > INT_MAX / r.classes / r.inner) return why = "too large", nullptr;
  return cudnn::attempt(why, [&]() -> std::unique_ptr<Softmax> { return std::make_unique<Cudnn>(r); });
}

}  // namespace cortado::kernels
