// Attention with one functor call per query, and in backward one more per key. A group of a device's lanes shares each.
// Keys are processed in chunks, so that a chunk's probabilities stay in registers and y is rescaled once per chunk.

#include <cmath>

#include "core/loops/for_each_row.h"
#include "kernels/attention.h"

namespace cortado::kernels {
namespace {

constexpr int kChunk = 16;  ///< keys, or queries, of a chunk

/// The rows of one head.
struct AttentionRows {
  AttentionRequest r;
  AttentionOperands io;

  CORTADO_HD int64_t y_step() const { return r.heads * r.value_width; }
  CORTADO_HD int64_t q_at(int64_t head, int64_t i) const {
    return (head / r.heads * r.queries + i) * r.step_q + head % r.heads * r.width;
  }
  CORTADO_HD int64_t k_at(int64_t head, int64_t j) const {
    return (head / r.heads * r.keys + j) * r.step_k + head % r.heads * r.width;
  }
  CORTADO_HD int64_t v_at(int64_t head, int64_t j) const {
    return (head / r.heads * r.keys + j) * r.step_v + head % r.heads * r.value_width;
  }
  CORTADO_HD int64_t y_at(int64_t head, int64_t i) const {
    return (head / r.heads * r.queries + i) * y_step() + head % r.heads * r.value_width;
  }
  CORTADO_HD static float dot(const float* a, const float* b, int64_t n, const RowGroup& group) {
    return group.sum(n, [=](int64_t c) { return a[c] * b[c]; });
  }
  CORTADO_HD float score(int64_t head, int64_t i, int64_t j, const RowGroup& group) const {
    const float s = r.scale * dot(io.q + q_at(head, i), io.k + k_at(head, j), r.width, group);
    if (!io.mask) return s;
    return s + io.mask[head / r.heads * r.mask_sample + head % r.heads * r.mask_head + i * r.mask_query + j];
  }
  CORTADO_HD float probability(int64_t head, int64_t i, int64_t j, const RowGroup& group) const {
    return expf(score(head, i, j, group) - io.sums[head * r.queries + i]);
  }
  /// d s of a pair.
  CORTADO_HD float slope(int64_t head, int64_t i, int64_t j, float p, float own, const RowGroup& group) const {
    return p * (dot(io.dy + y_at(head, i), io.v + v_at(head, j), r.value_width, group) - own);
  }
  /// to[c] = factor to[c] + sum over n of p[n] rows[n * step + c]; to[c] is not read if factor is 0.
  CORTADO_HD static void add_rows(float* to, float factor, const float* p, int64_t n, const float* rows, int64_t step,
                                  int64_t width, const RowGroup& group) {
    group.each(width, [=](int64_t c) {
      float sum = factor == 0 ? 0 : factor * to[c];
      for (int64_t i = 0; i < n; ++i) sum += p[i] * rows[i * step + c];
      to[c] = sum;
    });
  }
  CORTADO_HD static void clear(float* to, int64_t width, const RowGroup& group) {
    group.each(width, [=](int64_t c) { to[c] = 0; });
  }

  /// As if each operand was read once.
  Traffic operands(int64_t passes, int64_t written) const {
    const int64_t all = r.samples * r.heads * int64_t(sizeof(float));
    return {passes * all * (r.queries * r.width + r.keys * (r.width + r.value_width)), all * written};
  }
};

struct AttentionForward {
  AttentionRows rows;

  Traffic traffic(int64_t) const { return rows.operands(1, rows.r.queries * rows.r.value_width); }
  CORTADO_HD void operator()(int64_t row, const RowGroup& group) const {
    const AttentionRequest& r = rows.r;
    const int64_t head = row / r.queries, i = row % r.queries, last = r.keys_of(i);
    float* y = rows.io.y + rows.y_at(head, i);
    float most = -INFINITY, total = 0;
    AttentionRows::clear(y, r.value_width, group);
    for (int64_t j = 0; j < last; j += kChunk) {
      const int64_t keys = last - j < kChunk ? last - j : kChunk;
      float p[kChunk], top = most;
      for (int64_t n = 0; n < keys; ++n) {
        p[n] = rows.score(head, i, j + n, group);
        top = p[n] > top ? p[n] : top;
      }
      const float base = top > -INFINITY ? top : 0, factor = expf(most - base);
      total *= factor;
      for (int64_t n = 0; n < keys; ++n) total += p[n] = expf(p[n] - base);
      most = top;
      AttentionRows::add_rows(y, factor, p, keys, rows.io.v + rows.v_at(head, j), r.step_v, r.value_width, group);
    }
    group.each(r.value_width, [=](int64_t c) { y[c] = total == 0 ? 0 : y[c] / total; });
    if (rows.io.sums && group.leads()) rows.io.sums[row] = total == 0 ? 0 : most + logf(total);
  }
};

/// dots_i = dy_i . y_i, and dq.
struct AttentionBackwardOfQueries {
  AttentionRows rows;
  float* dots;

  Traffic traffic(int64_t) const { return rows.operands(1, rows.r.queries * rows.r.width); }
  CORTADO_HD void operator()(int64_t row, const RowGroup& group) const {
    const AttentionRequest& r = rows.r;
    const int64_t head = row / r.queries, i = row % r.queries, last = r.keys_of(i), y = rows.y_at(head, i);
    const float own = AttentionRows::dot(rows.io.dy + y, rows.io.y + y, r.value_width, group);
    if (group.leads()) dots[row] = own;
    if (!rows.io.dq) return;
    float* dq = rows.io.dq + rows.q_at(head, i);
    AttentionRows::clear(dq, r.width, group);
    for (int64_t j = 0; j < last; j += kChunk) {
      const int64_t keys = last - j < kChunk ? last - j : kChunk;
      float ds[kChunk];
      for (int64_t n = 0; n < keys; ++n)
        ds[n] = r.scale * rows.slope(head, i, j + n, rows.probability(head, i, j + n, group), own, group);
      AttentionRows::add_rows(dq, 1, ds, keys, rows.io.k + rows.k_at(head, j), r.step_k, r.width, group);
    }
  }
};

/// dk and dv.
struct AttentionBackwardOfKeys {
  AttentionRows rows;
  const float* dots;

  Traffic traffic(int64_t) const { return rows.operands(1, rows.r.keys * (rows.r.width + rows.r.value_width)); }
  CORTADO_HD void operator()(int64_t row, const RowGroup& group) const {
    const AttentionRequest& r = rows.r;
    const int64_t head = row / r.keys, j = row % r.keys;
    float* dk = rows.io.dk ? rows.io.dk + rows.k_at(head, j) : nullptr;
    float* dv = rows.io.dv ? rows.io.dv + rows.v_at(head, j) : nullptr;
    if (dk) AttentionRows::clear(dk, r.width, group);
    if (dv) AttentionRows::clear(dv, r.value_width, group);
    for (int64_t i = r.causal ? j : 0; i < r.queries; i += kChunk) {
      const int64_t queries = r.queries - i < kChunk ? r.queries - i : kChunk;
      float p[kChunk], ds[kChunk];
      for (int64_t n = 0; n < queries; ++n) {
        p[n] = rows.probability(head, i + n, j, group);
        ds[n] = r.scale * rows.slope(head, i + n, j, p[n], dots[head * r.queries + i + n], group);
      }
      if (dk) AttentionRows::add_rows(dk, 1, ds, queries, rows.io.q + rows.q_at(head, i), r.step_q, r.width, group);
      if (dv)
        AttentionRows::add_rows(dv, 1, p, queries, rows.io.dy + rows.y_at(head, i), rows.y_step(), r.value_width,
                                group);
    }
  }
};

class AttentionGeneric final : public Attention {
 public:
  explicit AttentionGeneric(const AttentionRequest& request) : r_(request) {}

  std::string name() const override { return "plain"; }
  int64_t backward_scratch() const override { return rows() * int64_t(sizeof(float)); }

  void forward(Context& context, const AttentionOperands& io) override {
    for_each_row(context, rows(), true, AttentionForward{{r_, io}});
  }
  void backward(Context& context, const AttentionOperands& io, void* scratch) override {
    auto* dots = static_cast<float*>(scratch);
    for_each_row(context, rows(), true, AttentionBackwardOfQueries{{r_, io}, dots});
    if (io.dk || io.dv)
      for_each_row(context, r_.samples * r_.heads * r_.keys, true, AttentionBackwardOfKeys{{r_, io}, dots});
  }

 private:
  int64_t rows() const { return r_.samples * r_.heads * r_.queries; }

  AttentionRequest r_;
};

}  // namespace

std::unique_ptr<Attention> make_attention_generic(const AttentionRequest& request, Context&, std::string&) {
  return std::make_unique<AttentionGeneric>(request);
}

}  // namespace cortado::kernels
