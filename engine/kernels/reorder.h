#pragma once

// Copies a tensor from one layout and type into another: float types, and 8-bit integers with their scales
// (core/tensor.h), which oneDNN alone does. Padding lanes of blocked results become zero. NaN becomes no integer: run()
// throws Error(kDiverged) instead.

#include <memory>
#include <string>

#include "core/context.h"
#include "core/tensor.h"

namespace cortado::kernels {

struct ReorderRequest {
  TensorSpec from, to;  ///< the same shape
};

class Reorder {
 public:
  virtual ~Reorder() = default;
  virtual std::string name() const = 0;
  virtual int64_t scratch() const { return 0; }
  virtual void run(Context& context, const void* from, void* to, void* scratch) = 0;
};

/// The first candidate that accepts. `refused` collects why others declined.
std::unique_ptr<Reorder> plan_reorder(const ReorderRequest& request, Context& context, std::string* refused = nullptr);

std::unique_ptr<Reorder> make_reorder_onednn(const ReorderRequest& request, Context& context, std::string& why);
std::unique_ptr<Reorder> make_reorder_native(const ReorderRequest& request, Context& context, std::string& why);
std::unique_ptr<Reorder> make_reorder_generic(const ReorderRequest& request, Context& context, std::string& why);

}  // namespace cortado::kernels
