#pragma once

// Attention (Vaswani et al., 2017), separately for each sample and head:
//   s_ij = scale q_i . k_j + mask_ij,   p_ij = e^s_ij / sum over j of e^s_ij,   y_i = sum over j of p_ij v_j
// Computed in blocks of queries and keys (Dao et al., "FlashAttention", 2022): the matrix p is never stored. A running
// maximum and sum replace the softmax over whole rows. Forward saves L_i = log of the sum of e^s_ij, from which
// backward recomputes p_ij = e^(s_ij - L_i):
//   dv_j = sum of p_ij dy_i,   ds_ij = p_ij (dy_i . v_j - dy_i . y_i)
//   dq_i = scale sum of ds_ij k_j,   dk_j = scale sum of ds_ij q_i
// y_i is 0 if the mask excludes every key.

#include <memory>
#include <string>

#include "core/context.h"
#include "core/host_device.h"

namespace cortado::kernels {

/// A sample's rows follow each other, and the heads of a row too, `width` values each.
struct AttentionRequest {
  int64_t samples = 1, heads = 1, queries = 1, keys = 1;
  int64_t width = 1, value_width = 1;                      ///< of a head's q and k, and of its v and y
  int64_t step_q = 0, step_k = 0, step_v = 0;              ///< floats from a row to the next; those of y are adjacent
  int64_t mask_sample = 0, mask_head = 0, mask_query = 0;  ///< floats from one to the next; 0: the same for all
  bool causal = false;                                     ///< query i excludes the keys after i
  float scale = 1;
  bool backward = false;  ///< whether backward() will be called

  /// The number of keys for query i.
  CORTADO_HD int64_t keys_of(int64_t i) const { return causal && i < keys ? i + 1 : keys; }
};

struct AttentionOperands {
  const float *q = nullptr, *k = nullptr, *v = nullptr;
  const float* mask = nullptr;  ///< null: none
  float* y = nullptr;           ///< backward reads it
  float* sums = nullptr;        ///< L: samples x heads x queries; null if backward() will not be called
  const float* dy = nullptr;
  float *dq = nullptr, *dk = nullptr, *dv = nullptr;  ///< with the steps of q, k and v; null: not requested
};

class Attention {
 public:
  virtual ~Attention() = default;
  virtual std::string name() const = 0;
  virtual int64_t backward_scratch() const { return 0; }
  virtual void forward(Context& context, const AttentionOperands& io) = 0;
  /// Overwrites the gradients.
  virtual void backward(Context& context, const AttentionOperands& io, void* scratch) = 0;
};

/// Returns the first candidate that accepts. `refused` collects the reasons of the others.
std::unique_ptr<Attention> plan_attention(const AttentionRequest& request, Context& context,
                                          std::string* refused = nullptr);

std::unique_ptr<Attention> make_attention_native(const AttentionRequest& request, Context& context, std::string& why);
std::unique_ptr<Attention> make_attention_generic(const AttentionRequest& request, Context& context, std::string& why);

}  // namespace cortado::kernels
