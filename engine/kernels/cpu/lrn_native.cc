// Our own local response normalization, for every layout and region. Nothing is saved: backward recomputes s from x,
// which is cheaper than writing and reading it.
//
// Both regions use one loop, window_sums(): sums of `size` values `step` floats apart. Across channels it runs over a
// line: all channels of one position (blocked: channels are adjacent, step 1) or of 16 adjacent positions (plain: step
// 16). Within a channel it runs over the rows of a plane, after the rows above and below have been summed.

#include <cfloat>
#include <cstring>

#include "core/round_up.h"
#include "core/threads/threads.h"
#include "kernels/cpu/bfloat16.h"
#include "kernels/cpu/floats.h"
#include "kernels/lrn.h"
#include "kernels/scratch.h"

namespace cortado::kernels {
namespace {

/// out[i] = sum over |d| <= half of in[i + d * step] for i in [0, n); n must be a multiple of 16.
void window_sums(const float* in, int64_t n, int64_t step, int64_t half, float* out) {
  for (int64_t i = 0; i < n; i += kLanes) {
    Vec16f sum = load(in + i - half * step);
    for (int64_t d = 1 - half; d <= half; ++d) sum += load(in + i + d * step);
    store(out + i, sum);
  }
}

struct Powers {
  Vec16f power, inverse;  ///< s^-beta, 1 / s
};

/// Clamps s above 0, so that padding lanes stay 0 even if k = 0.
Powers powers(const Vec16f& s, float beta) {
  const Vec16f base = select(s < FLT_MIN, spread(FLT_MIN), s);
  if (beta == 0.75f || beta == 0.5f) {
    const Vec16f r = inverse_root(base);
    return {beta == 0.5f ? r : r * r * inverse_root(r), r * r};
  }
  const Vec16f inverse = 1.0f / base;
  if (beta == 1.0f) return {inverse, inverse};
  Lanes lanes = lanes_of(base);
  for (float& value : lanes.of) value = std::pow(value, -beta);
  return {load(lanes.of), inverse};
}

/// The base of both regions.
class Own : public Lrn {
 public:
  Own(const LrnRequest& request, int threads) : r_(request), threads_(threads) {
    const Shape& shape = request.x.shape;
    wide_ = request.x.layout == Layout::kBlocked16;
    images_ = shape[0], channels_ = shape[1], h_ = shape[2], w_ = shape[3];
    blocks_ = wide_ ? (channels_ + kLanes - 1) / kLanes : channels_;
    // Windows need not exceed the extent.
    half_ = std::min((request.size - 1) / 2, request.within_channel ? std::max(h_, w_) : channels_);
    factor_ = request.alpha / (float(request.size) * (request.within_channel ? float(request.size) : 1));
    base_ = request.within_channel ? 1 : request.k;
  }

  std::string name() const override { return "own"; }

 protected:
  Vec16f scale(const float* sums) const { return base_ + factor_ * load(sums); }
  float slope() const { return 2 * factor_ * r_.beta; }

  /// Calls body(begin, end, the thread's part of the scratch) on a split of [0, n).
  template <typename Body>
  void split(Context& context, int64_t n, void* scratch, int64_t part_bytes, const Body& body) const {
    const int64_t pieces = std::min<int64_t>(n, context.pieces);
    in_pieces(context, pieces, [&](int64_t p, int worker) {
      body(n * p / pieces, n * (p + 1) / pieces, static_cast<float*>(scratch_part(scratch, worker * part_bytes)));
    });
  }

  LrnRequest r_;
  int threads_;
  bool wide_;
  int64_t images_, channels_, h_, w_, blocks_, half_;
  float factor_, base_;
};

/// For values stored as T: float or BFloat16.
template <typename T>
class Across final : public Own {
 public:
  Across(const LrnRequest& request, int threads) : Own(request, threads) {
    step_ = wide_ ? 1 : kLanes;
    group_step_ = h_ * w_ * (wide_ ? kLanes : 1);
    lines_ = wide_ ? h_ * w_ : (h_ * w_ + kLanes - 1) / kLanes;
    length_ = blocks_ * kLanes;
    halo_ = round_up(half_ * step_, kLanes);
  }

  int64_t forward_scratch() const override { return threads_ * kBatch * line_floats() * int64_t(sizeof(float)); }
  int64_t backward_scratch() const override { return forward_scratch(); }

  void forward(Context& context, const void* from, void* to, void* scratch) override {
    const T* x = static_cast<const T*>(from);
    T* y = static_cast<T*>(to);
    each_batch(context, scratch, [&](const Line* begin, const Line* end) {
      sum_squares(x, begin, end);
      for (const Line* line = begin; line < end; ++line)
        each_group(*line, [&](int64_t g, int64_t i, int width) {
          store_some(y + i, load_some(x + i, width) * powers(scale(line->sums + g), r_.beta).power, width);
        });
    });
  }

  void backward(Context& context, const void* from, const void* gradient, void* to, void* scratch) override {
    const T *x = static_cast<const T*>(from), *dy = static_cast<const T*>(gradient);
    T* dx = static_cast<T*>(to);
    each_batch(context, scratch, [&](const Line* begin, const Line* end) {
      sum_squares(x, begin, end);
      for (const Line* line = begin; line < end; ++line)
        each_group(*line, [&](int64_t g, int64_t i, int width) {
          const Powers s = powers(scale(line->sums + g), r_.beta);
          const Vec16f direct = load_some(dy + i, width) * s.power;
          store(line->direct + g, direct);
          store(line->terms + g, direct * load_some(x + i, width) * s.inverse);
        });
      for (const Line* line = begin; line < end; ++line) window_sums(line->terms, length_, step_, half_, line->sums);
      for (const Line* line = begin; line < end; ++line)
        each_group(*line, [&](int64_t g, int64_t i, int width) {
          const Vec16f indirect = slope() * load_some(x + i, width) * load(line->sums + g);
          store_some(dx + i, load(line->direct + g) - indirect, width);
        });
    });
  }

 private:
  /// Lines per step. Batching avoids store-forwarding stalls, because loads at another alignment follow the stores.
  static constexpr int kBatch = 8;

  struct Line {
    int64_t at;              ///< position of its first values in the tensor
    int width;               ///< number of valid lanes of 16
    float *squares, *terms;  ///< with halos
    float *sums, *direct;    ///< dy / s^beta
  };

  int64_t line_floats() const { return 4 * length_ + 4 * halo_; }

  /// Calls body(begin, end) for batches of lines.
  template <typename Body>
  void each_batch(Context& context, void* scratch, const Body& body) const {
    const int64_t bytes = kBatch * line_floats() * int64_t(sizeof(float));
    split(context, images_ * lines_, scratch, bytes, [&](int64_t begin, int64_t end, float* part) {
      std::memset(part, 0, size_t(bytes));  // the halos stay zero
      Line lines[kBatch];
      for (Line& line : lines) {
        line.squares = part + halo_;
        line.terms = line.squares + length_ + 2 * halo_;
        line.sums = line.terms + length_ + halo_;
        line.direct = line.sums + length_;
        part += line_floats();
      }
      for (int64_t i = begin; i < end; i += kBatch) {
        const int64_t count = std::min<int64_t>(kBatch, end - i);
        for (int64_t k = 0; k < count; ++k) place(lines[k], i + k);
        body(lines, lines + count);
      }
    });
  }

  void place(Line& line, int64_t number) const {
    const int64_t image = number / lines_, first = number % lines_ * (wide_ ? 1 : kLanes);
    line.width = wide_ ? kLanes : int(std::min<int64_t>(kLanes, h_ * w_ - first));
    line.at = image * blocks_ * group_step_ + first * (wide_ ? kLanes : 1);
  }

  /// Calls body(index in the line, index in the tensor, width) for each 16 values of a line.
  template <typename Body>
  void each_group(const Line& line, const Body& body) const {
    for (int64_t g = 0; g < blocks_; ++g) body(g * kLanes, line.at + g * group_step_, line.width);
  }

  void sum_squares(const T* x, const Line* begin, const Line* end) const {
    for (const Line* line = begin; line < end; ++line)
      each_group(*line, [&](int64_t g, int64_t i, int width) {
        const Vec16f v = load_some(x + i, width);
        store(line->squares + g, v * v);
      });
    for (const Line* line = begin; line < end; ++line) window_sums(line->squares, length_, step_, half_, line->sums);
  }

  int64_t step_, group_step_, lines_, length_, halo_;
};

template <typename T>
class Within final : public Own {
 public:
  Within(const LrnRequest& request, int threads) : Own(request, threads) {
    step_ = wide_ ? kLanes : 1;
    row_ = w_ * step_;
    padded_row_ = round_up(row_, kLanes);
    halo_ = round_up(half_ * step_, kLanes);
  }

  // One row with a halo on both sides, one row of sums, and for backward the planes of terms and of dy / s^beta.
  int64_t row_floats() const { return 2 * padded_row_ + 2 * halo_; }
  int64_t part_floats() const { return row_floats() + 2 * (h_ * padded_row_); }
  int64_t forward_scratch() const override { return threads_ * row_floats() * int64_t(sizeof(float)); }
  int64_t backward_scratch() const override { return threads_ * part_floats() * int64_t(sizeof(float)); }

  void forward(Context& context, const void* from, void* to, void* scratch) override {
    const T* x = static_cast<const T*>(from);
    T* y = static_cast<T*>(to);
    each_plane(context, scratch, row_floats(), [&](int64_t at, float* part) {
      float *column_sums = part + halo_, *sums = column_sums + padded_row_ + halo_;
      for (int64_t h = 0; h < h_; ++h) {
        box_squares(h, x + at, column_sums, sums);
        each_group(at + h * row_, [&](int64_t i, int64_t p, int n) {
          store_some(y + p, load_some(x + p, n) * powers(scale(sums + i), r_.beta).power, n);
        });
      }
    });
  }

  void backward(Context& context, const void* from, const void* gradient, void* to, void* scratch) override {
    const T *x = static_cast<const T*>(from), *dy = static_cast<const T*>(gradient);
    T* dx = static_cast<T*>(to);
    each_plane(context, scratch, part_floats(), [&](int64_t at, float* part) {
      float *column_sums = part + halo_, *sums = column_sums + padded_row_ + halo_;
      float *terms = part + row_floats(), *direct = terms + h_ * padded_row_;
      for (int64_t h = 0; h < h_; ++h) {
        box_squares(h, x + at, column_sums, sums);
        each_group(at + h * row_, [&](int64_t i, int64_t p, int n) {
          const Powers s = powers(scale(sums + i), r_.beta);
          const Vec16f d = load_some(dy + p, n) * s.power;
          store(direct + h * padded_row_ + i, d);
          store(terms + h * padded_row_ + i, d * load_some(x + p, n) * s.inverse);
        });
      }
      for (int64_t h = 0; h < h_; ++h) {
        box_sums(h, column_sums, sums,
                 [&](int64_t row, int64_t i, int) { return load(terms + row * padded_row_ + i); });
        each_group(at + h * row_, [&](int64_t i, int64_t p, int n) {
          const Vec16f indirect = slope() * load_some(x + p, n) * load(sums + i);
          store_some(dx + p, load(direct + h * padded_row_ + i) - indirect, n);
        });
      }
    });
  }

 private:
  template <typename Body>
  void each_plane(Context& context, void* scratch, int64_t floats, const Body& body) const {
    split(context, images_ * blocks_, scratch, floats * int64_t(sizeof(float)),
          [&](int64_t begin, int64_t end, float* part) {
            std::memset(part, 0, size_t(row_floats()) * sizeof(float));  // the halos stay zero
            for (int64_t plane = begin; plane < end; ++plane) body(plane * h_ * row_, part);
          });
  }

  /// Calls body(i, position, width) for each 16 values of a row that starts at `at`.
  template <typename Body>
  void each_group(int64_t at, const Body& body) const {
    for (int64_t i = 0; i < row_; i += kLanes) body(i, at + i, int(std::min<int64_t>(kLanes, row_ - i)));
  }

  /// sums[i] = the sum of value(row, i, width) over the box around row h.
  template <typename Value>
  void box_sums(int64_t h, float* column_sums, float* sums, const Value& value) const {
    const int64_t first = std::max<int64_t>(0, h - half_), last = std::min(h_ - 1, h + half_);
    each_group(0, [&](int64_t i, int64_t, int n) {
      Vec16f sum = value(first, i, n);
      for (int64_t row = first + 1; row <= last; ++row) sum += value(row, i, n);
      store_some(column_sums + i, sum, n);
    });
    window_sums(column_sums, padded_row_, step_, half_, sums);
  }

  /// box_sums() of the squares of a plane.
  void box_squares(int64_t h, const T* plane, float* column_sums, float* sums) const {
    box_sums(h, column_sums, sums, [&](int64_t row, int64_t i, int n) {
      const Vec16f v = load_some(plane + row * row_ + i, n);
      return v * v;
    });
  }

  int64_t step_, row_, padded_row_, halo_;
};

}  // namespace

std::unique_ptr<Lrn> make_lrn_native(const LrnRequest& request, Context& context, std::string& why) {
  if (!takes_halves(request.x.dtype, why)) return nullptr;
  return with_half_type(request.x.dtype, [&](auto type) -> std::unique_ptr<Lrn> {
    using T = decltype(type);
    if (request.within_channel) return std::make_unique<Within<T>>(request, context.threads);
    return std::make_unique<Across<T>>(request, context.threads);
  });
}

}  // namespace cortado::kernels
