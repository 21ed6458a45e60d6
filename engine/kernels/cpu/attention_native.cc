// Our own attention. The vectors' lanes are queries: a block of scores is (k q^T), so maxima, sums and factors of the
// running softmax are vectors, and the products read k and v where they are. Only the block of 32 queries is transposed
// before, and its result after. One thread computes a block of queries, or in backward a head, so results are bitwise
// independent of the number of threads. All buffers fit in the stack.

#include <cmath>
#include <limits>

#include "core/threads/threads.h"
#include "kernels/attention.h"
#include "kernels/candidates.h"
#include "kernels/cpu/blocked_product.h"

namespace cortado::kernels {
namespace {

constexpr float kLowest = -std::numeric_limits<float>::infinity();
constexpr int64_t kKeys = 128, kQueries = 2 * kLanes;  ///< of a block
constexpr int64_t kWidest = 128;                       ///< the widest head
constexpr int64_t kOfThread = 1 << 20;                 ///< operations that are worth a thread

/// A block of rows of 16 columns each, one after the other.
template <int64_t kRows>
struct alignas(64) Columns {
  float of[kRows * kQueries];
};

/// Queries [first, first + count) of a head.
struct QueryBlock {
  int64_t sample, head, first, count;
  int64_t blocks() const { return blocks_of(count); }
  /// The first row of an operand.
  int64_t at(int64_t rows, int64_t step, int64_t width) const { return (sample * rows + first) * step + head * width; }
};

/// to[block][c][lane] = factor times value c of row 16 block + lane; 0 in other lanes.
void turn(const float* rows, int64_t step, int64_t count, int64_t width, float factor, float* to) {
  for (int64_t first = 0; first < count; first += kLanes, to += width * kLanes)
    for (int64_t lane = 0; lane < kLanes; ++lane) {
      const float* row = rows + (first + lane) * step;
      for (int64_t c = 0; c < width; ++c) to[c * kLanes + lane] = first + lane < count ? factor * row[c] : 0;
    }
}

/// The other direction, for a product: writes the rows, or adds to them.
void turn_back(const float* from, int64_t step, int64_t count, int64_t width, const float* factors, bool add,
               float* rows) {
  for (int64_t i = 0; i < count; ++i) {
    const float* column = from + i / kLanes * width * kLanes + i % kLanes;
    float* row = rows + i * step;
    for (int64_t c = 0; c < width; ++c) row[c] = factors[i] * column[c * kLanes] + (add ? row[c] : 0);
  }
}

/// Copies rows to blocks of 16 columns, times `factor`; padding columns are 0.
void pack(const float* rows, int64_t step, int64_t count, int64_t width, float factor, float* to) {
  for (int64_t c = 0; c < width; c += kLanes)
    for (int64_t i = 0; i < count; ++i, to += kLanes)
      store(to, load_some(rows + i * step + c, int(std::min<int64_t>(kLanes, width - c))) * factor);
}

void unpack(const float* from, int64_t step, int64_t count, int64_t width, float* rows) {
  for (int64_t c = 0; c < width; c += kLanes)
    for (int64_t i = 0; i < count; ++i, from += kLanes)
      store_some(rows + i * step + c, load(from), int(std::min<int64_t>(kLanes, width - c)));
}

/// The softmax of 16 queries over the keys so far.
struct RunningSoftmax {
  Vec16f most = spread(kLowest), total{};

  Vec16f base() const { return select(most > kLowest, most, Vec16f{}); }
  /// Replaces the scores of more keys by e^(score - most). Returns the factor of earlier results.
  Vec16f add(float* scores, int64_t keys) {
    const Vec16f before = most;
    for (int64_t j = 0; j < keys; ++j) most = larger(load(scores + j * kLanes), most);
    const Vec16f base = this->base(), factor = exponential(before - base);
    Vec16f sums{};
    for (int64_t j = 0; j < keys; ++j) {
      const Vec16f e = exponential(load(scores + j * kLanes) - base);
      store(scores + j * kLanes, e);
      sums += e;
    }
    total = total * factor + sums;
    return factor;
  }
};

class Own final : public Attention {
 public:
  explicit Own(const AttentionRequest& request) : r_(request) {}

  std::string name() const override { return "own"; }

  void forward(Context& context, const AttentionOperands& io) override {
    const int64_t of_head = (r_.queries + kQueries - 1) / kQueries;
    parallel_ranges(context, r_.samples * r_.heads * of_head, at_least(1), [&](int64_t begin, int64_t end) {
      for (int64_t i = begin; i < end; ++i) forward(io, block(i / of_head, i % of_head * kQueries));
    });
  }

  void backward(Context& context, const AttentionOperands& io, void*) override {
    parallel_ranges(context, r_.samples * r_.heads, at_least(3), [&](int64_t begin, int64_t end) {
      for (int64_t head = begin; head < end; ++head)
        for (int64_t first = 0; first < r_.keys; first += kKeys)
          backward(io, head, first, std::min(kKeys, r_.keys - first));
    });
  }

 private:
  int64_t at_least(int64_t passes) const {
    return 1 + kOfThread / std::max<int64_t>(1, passes * kQueries * r_.keys * (r_.width + r_.value_width));
  }
  QueryBlock block(int64_t head, int64_t first) const {
    return {head / r_.heads, head % r_.heads, first, std::min(kQueries, r_.queries - first)};
  }
  int64_t y_step() const { return r_.heads * r_.value_width; }
  int64_t sums_at(const QueryBlock& b) const { return (b.sample * r_.heads + b.head) * r_.queries + b.first; }
  StridedMatrix k(const AttentionOperands& io, const QueryBlock& b, int64_t key) const {
    return {io.k + (b.sample * r_.keys + key) * r_.step_k + b.head * r_.width, r_.step_k, 1};
  }
  StridedMatrix v(const AttentionOperands& io, const QueryBlock& b, int64_t key) const {
    return {io.v + (b.sample * r_.keys + key) * r_.step_v + b.head * r_.value_width, r_.step_v, 1};
  }

  void forward(const AttentionOperands& io, const QueryBlock& b) const;
  void backward(const AttentionOperands& io, int64_t head, int64_t key, int64_t keys) const;
  void restrict_scores(const AttentionOperands& io, const QueryBlock& b, int64_t key, int64_t keys, float* s) const;
  struct Gradients;
  void add_gradients(const AttentionOperands& io, const QueryBlock& b, int64_t key, int64_t keys, bool add,
                     Gradients& g) const;
  void slopes(const AttentionOperands& io, const QueryBlock& b, int64_t key, int64_t keys, Gradients& g) const;

  AttentionRequest r_;
};

/// Adds the mask to scores[block][key][lane], and excludes the keys after a query.
void Own::restrict_scores(const AttentionOperands& io, const QueryBlock& b, int64_t key, int64_t keys, float* s) const {
  if (io.mask) {
    const float* mask = io.mask + b.sample * r_.mask_sample + b.head * r_.mask_head + b.first * r_.mask_query + key;
    for (int64_t i = 0; i < b.count; ++i) {
      float* column = s + i / kLanes * keys * kLanes + i % kLanes;
      for (int64_t j = 0; j < keys; ++j) column[j * kLanes] += mask[i * r_.mask_query + j];
    }
  }
  if (!r_.causal) return;
  for (int64_t i = 0; i < b.count; ++i) {
    float* column = s + i / kLanes * keys * kLanes + i % kLanes;
    for (int64_t j = std::max<int64_t>(0, b.first + i + 1 - key); j < keys; ++j) column[j * kLanes] = kLowest;
  }
}

void Own::forward(const AttentionOperands& io, const QueryBlock& b) const {
  Columns<kWidest> q, y;
  Columns<kKeys> scores;
  RunningSoftmax softmax[2];
  const int64_t width = r_.value_width, lanes = b.blocks() * kLanes;
  turn(io.q + b.at(r_.queries, r_.step_q, r_.width), r_.step_q, b.count, r_.width, r_.scale, q.of);
  const int64_t last = r_.keys_of(b.first + b.count - 1);
  for (int64_t key = 0; key < last; key += kKeys) {
    const int64_t keys = std::min(kKeys, last - key);
    multiply(k(io, b, key), {q.of, r_.width}, {scores.of, keys}, r_.width, lanes);
    restrict_scores(io, b, key, keys, scores.of);
    for (int64_t block = 0; block < b.blocks(); ++block) {
      const Vec16f factor = softmax[block].add(scores.of + block * keys * kLanes, keys);
      float* sums = y.of + block * width * kLanes;
      for (int64_t c = 0; key > 0 && c < width; ++c) store(sums + c * kLanes, load(sums + c * kLanes) * factor);
    }
    const StridedMatrix rows = v(io, b, key);
    multiply({rows.data, rows.column, rows.row}, {scores.of, keys}, {y.of, width}, keys, lanes, key > 0);
  }
  Columns<1> factors;
  for (int64_t block = 0; block < b.blocks(); ++block) {
    const Vec16f& total = softmax[block].total;
    store(factors.of + block * kLanes, select(total == 0.0f, Vec16f{}, 1.0f / total));
  }
  turn_back(y.of, y_step(), b.count, width, factors.of, false, io.y + b.at(r_.queries, y_step(), width));
  for (int64_t i = 0; io.sums && i < b.count; ++i) {
    const RunningSoftmax& of = softmax[i / kLanes];
    const float total = of.total[int(i % kLanes)];
    io.sums[sums_at(b) + i] = total == 0 ? 0 : of.base()[int(i % kLanes)] + std::log(total);
  }
}

/// The buffers of backward for a block of keys.
struct Own::Gradients {
  Columns<kWidest> q, dy;            ///< transposed; q is later replaced by dq
  Columns<kWidest> q_rows, dy_rows;  ///< in blocks of 16 columns
  Columns<kKeys> p, ds;
  Columns<1> sums, dots;  ///< L_i; dy_i . y_i
  alignas(64) float dk[kKeys * kWidest], dv[kKeys * kWidest];
};

/// p and ds of a block.
void Own::slopes(const AttentionOperands& io, const QueryBlock& b, int64_t key, int64_t keys, Gradients& g) const {
  const int64_t lanes = b.blocks() * kLanes;
  multiply(k(io, b, key), {g.q.of, r_.width}, {g.p.of, keys}, r_.width, lanes);
  restrict_scores(io, b, key, keys, g.p.of);
  multiply(v(io, b, key), {g.dy.of, r_.value_width}, {g.ds.of, keys}, r_.value_width, lanes);
  for (int64_t block = 0; block < b.blocks(); ++block) {
    const Vec16f sums = load(g.sums.of + block * kLanes), dots = load(g.dots.of + block * kLanes);
    for (int64_t at = block * keys * kLanes; at < (block + 1) * keys * kLanes; at += kLanes) {
      const Vec16f p = exponential(load(g.p.of + at) - sums);
      store(g.p.of + at, p);
      store(g.ds.of + at, p * (load(g.ds.of + at) - dots));
    }
  }
}

/// Adds the contribution of a block of queries to the gradients of a block of keys, and the other way round.
void Own::add_gradients(const AttentionOperands& io, const QueryBlock& b, int64_t key, int64_t keys, bool add,
                        Gradients& g) const {
  const int64_t width = r_.width, wide = r_.value_width, lanes = b.blocks() * kLanes;
  const int64_t q_at = b.at(r_.queries, r_.step_q, width), y_at = b.at(r_.queries, y_step(), wide);
  turn(io.q + q_at, r_.step_q, b.count, width, r_.scale, g.q.of);
  turn(io.dy + y_at, y_step(), b.count, wide, 1, g.dy.of);
  g.sums = g.dots = {};
  for (int64_t i = 0; i < b.count; ++i) {
    g.sums.of[i] = io.sums[sums_at(b) + i];
    for (int64_t c = 0; c < wide; ++c) g.dots.of[i] += io.dy[y_at + i * y_step() + c] * io.y[y_at + i * y_step() + c];
  }
  slopes(io, b, key, keys, g);
  if (io.dv) {
    pack(io.dy + y_at, y_step(), b.count, wide, 1, g.dy_rows.of);
    multiply(BlockedMatrix<const float>{g.p.of, keys}, {g.dy_rows.of, b.count}, {g.dv, keys}, b.count, wide, add);
  }
  if (io.dk) {
    pack(io.q + q_at, r_.step_q, b.count, width, r_.scale, g.q_rows.of);
    multiply(BlockedMatrix<const float>{g.ds.of, keys}, {g.q_rows.of, b.count}, {g.dk, keys}, b.count, width, add);
  }
  if (!io.dq) return;
  const StridedMatrix rows = k(io, b, key);
  multiply({rows.data, rows.column, rows.row}, {g.ds.of, keys}, {g.q.of, width}, keys, lanes);
  Columns<1> factors;
  std::fill_n(factors.of, kQueries, r_.scale);
  turn_back(g.q.of, r_.step_q, b.count, width, factors.of, key > 0, io.dq + q_at);
}

void Own::backward(const AttentionOperands& io, int64_t head, int64_t key, int64_t keys) const {
  Gradients g;
  bool add = false;
  const QueryBlock first = block(head, 0);
  for (int64_t query = r_.causal ? key / kQueries * kQueries : 0; query < r_.queries; query += kQueries, add = true)
    add_gradients(io, block(head, query), key, keys, add, g);
  if (io.dk) unpack(g.dk, r_.step_k, keys, r_.width, io.dk + (k(io, first, key).data - io.k));
  if (io.dv) unpack(g.dv, r_.step_v, keys, r_.value_width, io.dv + (v(io, first, key).data - io.v));
}

}  // namespace

std::unique_ptr<Attention> make_attention_native(const AttentionRequest& request, Context& context, std::string& why) {
  if (!wants_cpu_candidates(context, DType::kF32)) return why = "not on the CPU", nullptr;
  if (std::max(request.width, request.value_width) > kWidest) return why = "a head is too wide", nullptr;
  return std::make_unique<Own>(request);
}

}  // namespace cortado::kernels
