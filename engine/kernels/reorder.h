#pragma once

// Converts a tensor between layouts and types: float types, and 8-bit integers with their scales (core/tensor.h), which
// only oneDNN supports. Padding lanes of blocked results become zero. NaN has no integer value: run() throws
// Error(kDiverged).

#include <memory>
#include <string>

#include "core/context.h"
#include "core/tensor.h"

namespace cortado::kernels {

struct ReorderRequest {
  TensorSpec from, to;  ///< same shape
};

class Reorder {
 public:
  virtual ~Reorder() = default;
  virtual std::string name() const = 0;
  virtual int64_t scratch() const { return 0; }
  virtual void run(Context& context, const void* from, void* to, void* scratch) = 0;
};

/// Returns the first candidate that accepts. `refused` collects the reasons of the others.
std::unique_ptr<Reorder> plan_reorder(const ReorderRequest& request, Context& context, std::string* refused = nullptr);

std::unique_ptr<Reorder> make_reorder_onednn(const ReorderRequest& request, Context& context, std::string& why);
std::unique_ptr<Reorder> make_reorder_native(const ReorderRequest& request, Context& context, std::string& why);
std::unique_ptr<Reorder> make_reorder_generic(const ReorderRequest& request, Context& context, std::string& why);

}  // namespace cortado::kernels
