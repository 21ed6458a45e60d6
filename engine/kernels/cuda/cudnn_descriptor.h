#pragma once

// An object of cuDNN 9's backend. Included by files in this folder and by their tests.

#include <cstdint>
#include <memory>
#include <vector>

#include "kernels/cuda/cudnn.h"

namespace cortado::kernels::cudnn {

/// Copies refer to the same object. Calls that fail throw Error(kDevice).
class Descriptor {
 public:
  explicit Descriptor(cudnnBackendDescriptorType_t type);

  void set(cudnnBackendAttributeName_t name, cudnnBackendAttributeType_t type, int64_t count, const void* values);
  void set(cudnnBackendAttributeName_t name, int64_t value) { set(name, CUDNN_TYPE_INT64, 1, &value); }
  void set(cudnnBackendAttributeName_t name, float value) { set(name, CUDNN_TYPE_FLOAT, 1, &value); }
  void set(cudnnBackendAttributeName_t name, bool value) { set(name, CUDNN_TYPE_BOOLEAN, 1, &value); }
  void set(cudnnBackendAttributeName_t name, cudnnDataType_t value) { set(name, CUDNN_TYPE_DATA_TYPE, 1, &value); }
  void set(cudnnBackendAttributeName_t name, const std::vector<int64_t>& values) {
    set(name, CUDNN_TYPE_INT64, int64_t(values.size()), values.data());
  }
  void set(cudnnBackendAttributeName_t name, const std::vector<void*>& values) {
    set(name, CUDNN_TYPE_VOID_PTR, int64_t(values.size()), values.data());
  }
  void set(cudnnBackendAttributeName_t name, const Descriptor& value);
  void set(cudnnBackendAttributeName_t name, cudnnHandle_t value) { set(name, CUDNN_TYPE_HANDLE, 1, &value); }
  void finalize();

  int64_t number(cudnnBackendAttributeName_t name) const;

  cudnnBackendDescriptor_t get() const { return descriptor_.get(); }

 private:
  std::shared_ptr<void> descriptor_;
};

}  // namespace cortado::kernels::cudnn
