#include "kernels/cuda/cudnn_descriptor.h"

namespace cortado::kernels::cudnn {

Descriptor::Descriptor(cudnnBackendDescriptorType_t type) {
  cudnnBackendDescriptor_t made = nullptr;
  check(cudnnBackendCreateDescriptor(type, &made), "cudnnBackendCreateDescriptor");
  descriptor_ = std::shared_ptr<void>(made, [](void* descriptor) { cudnnBackendDestroyDescriptor(descriptor); });
}

void Descriptor::set(cudnnBackendAttributeName_t name, cudnnBackendAttributeType_t type, int64_t count,
                     const void* values) {
  check(cudnnBackendSetAttribute(get(), name, type, count, values), "cudnnBackendSetAttribute");
}

void Descriptor::set(cudnnBackendAttributeName_t name, const Descriptor& value) {
  const cudnnBackendDescriptor_t raw = value.get();
  set(name, CUDNN_TYPE_BACKEND_DESCRIPTOR, 1, &raw);
}

void Descriptor::finalize() { check(cudnnBackendFinalize(get()), "cudnnBackendFinalize"); }

int64_t Descriptor::number(cudnnBackendAttributeName_t name) const {
  int64_t value = 0, count = 0;
  check(cudnnBackendGetAttribute(get(), name, CUDNN_TYPE_INT64, 1, &count, &value), "cudnnBackendGetAttribute");
  return value;
}

}  // namespace cortado::kernels::cudnn
