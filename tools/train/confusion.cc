#include "tools/train/confusion.h"

#include <algorithm>
#include <numeric>
#include <tuple>

#include "core/device/device_memory.h"
#include "layers/registry.h"

namespace cortado::tools {

void Confusion::add(const std::vector<float>& judged) {
  const size_t rows = judged.size() / 2;
  for (size_t r = 0; r < rows; ++r) {
    if (judged[r] < 0) continue;
    const size_t truth = size_t(judged[r]), best = size_t(judged[rows + r]);
    ++samples_[truth];
    ++taken_[best];
    if (truth == best) ++right_[truth];
    ++counts_[int64_t(truth) * classes() + int64_t(best)];
  }
}

int64_t Confusion::samples() const { return std::accumulate(samples_.begin(), samples_.end(), int64_t(0)); }
int64_t Confusion::right() const { return std::accumulate(right_.begin(), right_.end(), int64_t(0)); }

int64_t Confusion::count(int64_t truth, int64_t taken_for) const {
  const auto found = counts_.find(truth * classes() + taken_for);
  return found == counts_.end() ? 0 : found->second;
}

std::vector<Confusion::Pair> Confusion::mistaken() const {
  std::vector<Pair> pairs;
  for (const auto& [key, count] : counts_)
    if (key / classes() != key % classes()) pairs.push_back({key / classes(), key % classes(), count});
  std::sort(pairs.begin(), pairs.end(), [](const Pair& a, const Pair& b) {
    return std::tuple(-a.count, a.truth, a.taken_for) < std::tuple(-b.count, b.truth, b.taken_for);
  });
  return pairs;
}

ClassWatch::ClassWatch(Net& net) : net_(net) {
  watch(false);
  if (judges_.empty()) watch(true);
}

void ClassWatch::watch(bool losses) {
  for (const graph::Node& node : net_.plan().graph.nodes) {
    auto* scoring = node.layer->roles().scoring;
    if (!scoring || (find_loss_role(node.type) != nullptr) != losses || node.x.size() < 2) continue;
    const auto same = [&](const Judge& judge) {
      return judge.node->x[0] == node.x[0] && judge.node->x[1] == node.x[1];
    };
    if (std::any_of(judges_.begin(), judges_.end(), same)) continue;
    if (const int64_t classes = scoring->note_classes(net_.context())) judges_.push_back({&node, scoring, classes});
  }
}

std::vector<Classification> ClassWatch::none_yet() const {
  const auto blob = [&](const Judge& judge, size_t x) { return net_.plan().graph.value(judge.node->x[x]).name; };
  std::vector<Classification> out;
  for (const Judge& judge : judges_)
    out.push_back({judge.node->name, blob(judge, 0), blob(judge, 1), Confusion(judge.classes)});
  return out;
}

void ClassWatch::add_to(std::vector<Classification>& to) {
  for (size_t i = 0; i < judges_.size(); ++i) {
    const PredictedClasses judged = judges_[i].scoring->predictions();
    judged_.resize(size_t(2 * judged.rows));
    if (judged.rows == 0) continue;
    copy_to_host(net_.context(), judged_.data(), judged.classes, judged_.size() * sizeof(float));
    to[i].confusion.add(judged_);
  }
}

}  // namespace cortado::tools
