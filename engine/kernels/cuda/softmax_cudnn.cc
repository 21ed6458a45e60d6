// Softmax by cuDNN, over the channel axis of outer x classes x inner. Whether it supports a type is known only at run
// time, so it runs once before it is accepted. Later failures are errors.

#include <climits>
#include <memory>

#include "core/device/device_memory.h"
#include "kernels/cuda/cudnn.h"
#include "kernels/softmax.h"

namespace cortado::kernels {
namespace {

using namespace cudnn;

class Cudnn final : public Softmax {
 public:
  explicit Cudnn(const SoftmaxRequest& r) {
    cudnnTensorDescriptor_t made = nullptr;
    check(cudnnCreateTensorDescriptor(&made), "cudnnCreateTensorDescriptor");
    tensor_ = {made, [](cudnnTensorDescriptor_t tensor) { cudnnDestroyTensorDescriptor(tensor); }};
    check(cudnnSetTensor4dDescriptor(made, CUDNN_TENSOR_NCHW, type_of(r.dtype), int(r.outer), int(r.classes),
                                     int(r.inner), 1),
          "cudnnSetTensor4dDescriptor");
  }

  std::string name() const override { return "cudnn"; }

  void forward(Context& context, const void* x, void* y, void*) override {
    check(cudnnSoftmaxForward(handle(context), CUDNN_SOFTMAX_ACCURATE, CUDNN_SOFTMAX_MODE_CHANNEL, &kOne, tensor(), x,
                              &kZero, tensor(), y),
          "cudnnSoftmaxForward");
  }
  void backward(Context& context, const void* y, const void* dy, void* dx, void*) override {
    check(cudnnSoftmaxBackward(handle(context), CUDNN_SOFTMAX_ACCURATE, CUDNN_SOFTMAX_MODE_CHANNEL, &kOne, tensor(), y,
                               tensor(), dy, &kZero, tensor(), dx),
          "cudnnSoftmaxBackward");
  }

 private:
  static constexpr float kOne = 1, kZero = 0;
  cudnnTensorDescriptor_t tensor() const { return static_cast<cudnnTensorDescriptor_t>(tensor_.get()); }

  std::shared_ptr<void> tensor_;
};

/// Throws if the library fails.
void run_once(Softmax& softmax, const SoftmaxRequest& r, Context& context) {
  const size_t bytes = size_t(r.outer * r.classes * r.inner * size_of(r.dtype));
  const DeviceMemory y(context, bytes), dy(context, r.backward ? bytes : 0);
  softmax.forward(context, y.data(), y.data(), nullptr);
  if (r.backward) softmax.backward(context, y.data(), dy.data(), dy.data(), nullptr);
  synchronize(context);
}

}  // namespace

std::unique_ptr<Softmax> make_softmax_cudnn(const SoftmaxRequest& r, Context& context, std::string& why) {
  if (!cudnn::runs_here(context, why)) return nullptr;
  if (r.outer * r.classes * r.inner == 0) return why = "no elements", nullptr;
  if (r.outer > INT_MAX / r.classes / r.inner) return why = "too large", nullptr;
  return cudnn::attempt(why, [&]() -> std::unique_ptr<Softmax> {
    auto softmax = std::make_unique<Cudnn>(r);
    run_once(*softmax, r, context);
    return softmax;
  });
}

}  // namespace cortado::kernels
