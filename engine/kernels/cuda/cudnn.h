#pragma once

// Common code for cuDNN. Only files in this folder include it.

#include <cudnn.h>

#include <string>

#include "core/context.h"
#include "core/error.h"
#include "core/tensor.h"
#include "kernels/library.h"

namespace cortado::kernels::cudnn {

// All functions of the library that are used.
#define CORTADO_CUDNN(function) CORTADO_LIBRARY_FUNCTION("libcudnn.so." CORTADO_AS_TEXT(CUDNN_MAJOR), function)
CORTADO_CUDNN(cudnnGetVersion);
CORTADO_CUDNN(cudnnGetErrorString);
CORTADO_CUDNN(cudnnGetLastErrorString);
CORTADO_CUDNN(cudnnCreate);
CORTADO_CUDNN(cudnnSetStream);
CORTADO_CUDNN(cudnnDestroy);
CORTADO_CUDNN(cudnnBackendCreateDescriptor);
CORTADO_CUDNN(cudnnBackendSetAttribute);
CORTADO_CUDNN(cudnnBackendGetAttribute);
CORTADO_CUDNN(cudnnBackendFinalize);
CORTADO_CUDNN(cudnnBackendExecute);
CORTADO_CUDNN(cudnnBackendDestroyDescriptor);
CORTADO_CUDNN(cudnnCreateTensorDescriptor);
CORTADO_CUDNN(cudnnSetTensor4dDescriptor);
CORTADO_CUDNN(cudnnDestroyTensorDescriptor);
CORTADO_CUDNN(cudnnSoftmaxForward);
CORTADO_CUDNN(cudnnSoftmaxBackward);
#undef CORTADO_CUDNN

/// The library's handle of `context`, bound to its stream; created at first use.
cudnnHandle_t handle(Context& context);

/// Throws Error(kDevice) with the call and cuDNN's message.
void check(cudnnStatus_t status, const char* call);

cudnnDataType_t type_of(DType dtype);  ///< for float types

/// The version of the loaded library: "cuDNN 9.19.0".
std::string version();

/// Calls make(); if the library fails, returns an empty result and sets `why`. For candidates. Throws MissingLibrary.
template <typename Make>
auto attempt(std::string& why, const Make& make) -> decltype(make()) {
  try {
    return make();
  } catch (const MissingLibrary&) {
    throw;
  } catch (const Error& error) {
    why = error.mistakes().front().message;
    return {};
  }
}

/// Whether `context` runs on a CUDA device; if not, sets `why`.
inline bool runs_here(const Context& context, std::string& why) {
  if (context.device.is_cuda()) return true;
  why = "not on a CUDA device";
  return false;
}

}  // namespace cortado::kernels::cudnn
