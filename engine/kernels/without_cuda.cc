// Stubs of the CUDA candidates for builds without CUDA: they decline.

#ifndef CORTADO_WITH_CUDA

#include "kernels/conv.h"
#include "kernels/devices.h"
#include "kernels/inner_product.h"
#include "kernels/matmul.h"
#include "kernels/softmax.h"

namespace cortado::kernels {

namespace {
constexpr const char* kWhy = "built without CUDA";
}  // namespace

std::vector<ConvCandidate> cudnn_conv_candidates() { return {}; }

std::unique_ptr<Softmax> make_softmax_cudnn(const SoftmaxRequest&, Context&, std::string& why) {
  return why = kWhy, nullptr;
}

std::unique_ptr<InnerProduct> make_inner_product_cublaslt(const InnerProductRequest&, Context&, std::string& why) {
  return why = kWhy, nullptr;
}

std::unique_ptr<MatMul> make_matmul_cublaslt(const MatMulRequest&, Context&, std::string& why) {
  return why = kWhy, nullptr;
}

std::vector<CudaDevice> cuda_devices(std::string& why_none) {
  why_none = kWhy;
  return {};
}

std::vector<std::string> cuda_libraries() { return {}; }

std::string device_description(Context& context) { return context.device.str(); }

}  // namespace cortado::kernels

#endif
