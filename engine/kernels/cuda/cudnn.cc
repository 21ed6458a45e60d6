#include "kernels/cuda/cudnn.h"

namespace cortado::kernels::cudnn {

namespace {

class Handle {
 public:
  Handle() { check(cudnnCreate(&handle_), "cudnnCreate"); }
  ~Handle() { cudnnDestroy(handle_); }
  Handle(const Handle&) = delete;
  Handle& operator=(const Handle&) = delete;

  cudnnHandle_t get() const { return handle_; }

 private:
  cudnnHandle_t handle_ = nullptr;
};

}  // namespace

cudnnHandle_t handle(Context& context) {
  const cudnnHandle_t handle = context.handle<Handle>().get();
  check(cudnnSetStream(handle, static_cast<cudaStream_t>(context.stream())), "cudnnSetStream");
  return handle;
}

void check(cudnnStatus_t status, const char* call) {
  if (status == CUDNN_STATUS_SUCCESS) return;
  char message[1024] = "";
  cudnnGetLastErrorString(message, sizeof message);
  throw Error(ExitCode::kDevice,
              std::string(call) + ": " + cudnnGetErrorString(status) + (*message ? std::string(", ") + message : ""));
}

cudnnDataType_t type_of(DType dtype) {
  switch (dtype) {
    case DType::kF32:
      return CUDNN_DATA_FLOAT;
    case DType::kF16:
      return CUDNN_DATA_HALF;
    case DType::kBF16:
      return CUDNN_DATA_BFLOAT16;
    default:
      throw_internal("cuDNN does not support type " + name_of(dtype));
  }
}

std::string version() {
  const size_t number = cudnnGetVersion();  // 91900 is 9.19.0
  return "cuDNN " + std::to_string(number / 10000) + "." + std::to_string(number / 100 % 100) + "." +
         std::to_string(number % 100);
}

}  // namespace cortado::kernels::cudnn
