#include "solvers/rank_share.h"

#include "solvers/rank_message.h"

namespace cortado {

namespace {

// In floats. The last part is small, so that sending can start early in backward.
constexpr int64_t kLastPart = (int64_t(1) << 20) / 4;

/// The offset of each rank's values, and the end; for the first rank, which has all of them.
std::vector<size_t> places_of_all(const RankShare& share, size_t bytes) {
  std::vector<size_t> at = {0};
  for (int rank = 0; rank < share.ranks(); ++rank)
    at.push_back(at.back() + size_t(ranks::range_of(rank, share.ranks(), share.shards).count) * bytes);
  return at;
}

/// The same for what this rank exchanges with the first one only.
std::vector<size_t> places_of_own(const RankShare& share, size_t bytes) {
  std::vector<size_t> at(size_t(share.ranks()) + 1, size_t(share.range.count) * bytes);
  at[kFirstRank] = 0;
  return at;
}

std::vector<size_t> no_places(const RankShare& share) { return std::vector<size_t>(size_t(share.ranks()) + 1); }

}  // namespace

std::vector<ranks::FloatRange> gradient_parts(Net& net) {
  const std::span<float> gradients = net.gradient_memory();
  const std::vector<Param>& params = net.params();
  std::vector<ranks::FloatRange> parts;
  int64_t end = int64_t(gradients.size());
  for (size_t p = params.size(); p > 0; --p) {
    const int64_t begin = p == 1 ? 0 : params[p - 1].dw - gradients.data();
    if (p > 1 && end - begin < (parts.empty() ? kLastPart : kExchangedPart)) continue;
    parts.push_back({begin, end});
    end = begin;
  }
  std::reverse(parts.begin(), parts.end());
  return parts;
}

CompleteParts::CompleteParts(Net& net) : parts_(gradient_parts(net)), complete_(net.params().size()) {
  const std::span<float> gradients = net.gradient_memory();
  for (const Param& param : net.params()) begins_.push_back(param.dw - gradients.data());
  begins_.push_back(int64_t(gradients.size()));
  begins_.front() = 0;
}

void CompleteParts::begin() {
  std::fill(complete_.begin(), complete_.end(), char(0));
  left_ = complete_.size();
  parts_left_ = parts_.size();
}

std::vector<std::vector<ranks::FloatRange>> slices_of_ranks(Net& net, int ranks) {
  const std::vector<ranks::FloatRange> parts = gradient_parts(net);
  std::vector<std::vector<ranks::FloatRange>> slices;
  for (int rank = 0; rank < ranks; ++rank) slices.push_back(ranks::slices_of(parts, rank, ranks));
  return slices;
}

void gather_shards(const RankShare& share, size_t bytes, const void* own, void* all) {
  const std::vector<size_t> places = share.is_first() ? places_of_all(share, bytes) : no_places(share);
  share.engine->all_to_all(static_cast<const std::byte*>(own), places_of_own(share, bytes),
                           static_cast<std::byte*>(all), places);
}

void deal_shards(const RankShare& share, size_t bytes, const void* all, void* own) {
  const std::vector<size_t> places = share.is_first() ? places_of_all(share, bytes) : no_places(share);
  share.engine->all_to_all(static_cast<const std::byte*>(all), places, static_cast<std::byte*>(own),
                           places_of_own(share, bytes));
}

ShardOutcome gather_outcome(const RankShare& share, const std::vector<double>& losses, int requests) {
  const int ranks = share.ranks();
  std::vector<double> words;  // per rank: its requests, then the losses of its shards
  std::vector<size_t> at = {0};
  for (int rank = 0; rank < ranks; ++rank) {
    const ranks::ShardRange range = ranks::range_of(rank, ranks, share.shards);
    if (range == share.range) {
      words.push_back(requests);
      words.insert(words.end(), losses.begin(), losses.end());
    } else {
      words.resize(words.size() + 1 + size_t(range.count));
    }
    at.push_back(words.size() * sizeof(double));
  }
  if (share.engine) share.engine->all_gather(reinterpret_cast<std::byte*>(words.data()), at);
  ShardOutcome outcome;
  for (int rank = 0; rank < ranks; ++rank) {
    const double* of_rank = words.data() + at[size_t(rank)] / sizeof(double);
    const double* end = words.data() + at[size_t(rank) + 1] / sizeof(double);
    outcome.requests |= int(*of_rank);
    for (const double* loss = of_rank + 1; loss < end; ++loss) outcome.loss += *loss;
  }
  outcome.loss /= double(share.shards);
  return outcome;
}

}  // namespace cortado
