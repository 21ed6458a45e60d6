#pragma once

// What all uses of cuDNN share. Included by files of this folder alone.

#include <cudnn.h>

#include <string>

#include "core/context.h"
#include "core/error.h"
#include "core/tensor.h"
#include "kernels/library.h"

namespace cortado::kernels::cudnn {

// Every function of it that is called anywhere.
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

/// The library's handle of `context`, bound to its stream; made at first use.
cudnnHandle_t handle(Context& context);

/// Throws Error(kDevice) with the call and cuDNN's own words.
void check(cudnnStatus_t status, const char* call);

cudnnDataType_t type_of(DType dtype);  ///< of a float type

/// "cuDNN 9.19.0"; of the library that is loaded.
std::string version();

/// make(), or nothing where the library refuses; then `why` says so. For use inside candidates. Throws MissingLibrary.
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

/// Whether `context` runs on a CUDA device; else `why` not.
inline bool runs_here(const Context& context, std::string& why) {
  if (context.device.is_cuda()) return true;
  why = "not on a CUDA device";
  return false;
}

}  // namespace cortado::kernels::cudnn
