#pragma once

#include <algorithm>
#include <cstdint>
#include <vector>

namespace cortado {

/// The mean of the latest `size` losses (average_loss), updated incrementally as in Caffe.
class LossWindow {
 public:
  /// size >= 1.
  explicit LossWindow(int size) : size_(size_t(size)) { losses_.reserve(std::min<size_t>(size_, 1 << 16)); }

  void add(float loss) {
    if (losses_.size() < size_) {
      losses_.push_back(loss);
      const double n = double(losses_.size());
      smoothed_ = (smoothed_ * (n - 1) + loss) / n;
      return;
    }
    smoothed_ += (double(loss) - losses_[oldest_]) / double(size_);
    losses_[oldest_] = loss;
    oldest_ = (oldest_ + 1) % size_;
  }

  double smoothed() const { return smoothed_; }

  /// The losses in the window, oldest first.
  std::vector<float> recent() const {
    std::vector<float> list(losses_.begin() + ptrdiff_t(oldest_), losses_.end());
    list.insert(list.end(), losses_.begin(), losses_.begin() + ptrdiff_t(oldest_));
    return list;
  }

  /// Restores a saved window. If its size differs, keeps the newest losses.
  void restore(const std::vector<float>& recent, double smoothed) {
    losses_.clear();
    oldest_ = 0;
    smoothed_ = 0;
    const size_t skipped = recent.size() > size_ ? recent.size() - size_ : 0;
    for (size_t i = skipped; i < recent.size(); ++i) add(recent[i]);
    if (skipped == 0) smoothed_ = smoothed;
  }

 private:
  size_t size_, oldest_ = 0;
  std::vector<float> losses_;
  double smoothed_ = 0;
};

}  // namespace cortado
