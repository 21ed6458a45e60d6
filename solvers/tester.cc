#include "solvers/tester.h"

#include <algorithm>
#include <chrono>

#include "core/error.h"
#include "core/log.h"

namespace cortado {

namespace {

/// Training numbers its passes from 0; each test net has its own range far above.
uint64_t pass_of_test(int net, uint64_t pass) { return (uint64_t(1) << 63) | (uint64_t(net) << 48) | pass; }

}  // namespace

Tester::Tester(Net& net, int index, int batches, ApVersion version, TestShare share)
    : net_(net), index_(index), batches_(batches), share_(share), outputs_(net, version), sums_(outputs_) {}

Tester::Tester(Net& net, Net* tail, int index, int64_t records, ApVersion version, TestShare share)
    : Tester(net, index, int(records / net.batch_size()), version, share) {
  tail_ = tail;
  records_ = records;
  if (!tail) return;
  tail_outputs_ = std::make_unique<OutputReader>(*tail);
  for (size_t k = 0; k < net.outputs().size(); ++k)
    if (const NetOutput& output = net.outputs()[k]; output.scores() != tail->outputs()[k].scores())
      throw FieldError("test_epoch",
                       "output '" + output.name + "' has values for each sample, not a score of the batch",
                       "add a Silence layer to remove it from the outputs");
}

void Tester::rewind() {
  for (const auto& [layer, position] : net_.positions()) net_.seek(layer, 0);
  if (!tail_) return;
  for (const auto& [layer, position] : tail_->positions())
    tail_->seek(layer, uint64_t(batches_) * uint64_t(net_.batch_size()));
}

/// Runs batch `batch` of this test and returns its loss.
double Tester::run_batch(int batch) {
  Net& net = is_tail(batch) ? *tail_ : net_;
  net.context().pass = pass_of_test(index_, passes_ + uint64_t(batch));
  net.forward();
  const double loss = net.loss();
  outputs_of(batch).read();  // may overwrite blobs
  return loss;
}

void Tester::add_batch(int batch, double loss) {
  const Net& net = is_tail(batch) ? *tail_ : net_;
  sums_.add(outputs_of(batch), loss, double(records_ > 0 ? net.batch_size() : 1));
}

void Tester::take_scores() {
  exact_ = sums_.exact();
  scores_ = records_ > 0 ? exact_ : sums_.means();
  loss_ = records_ > 0 ? sums_.exact_loss() : sums_.mean_loss();
}

void Tester::report_differences_once() {
  constexpr size_t kMax = 5;
  std::vector<size_t> different;
  for (size_t i = 0; i < scores_.size(); ++i)
    if (differ(scores_[i].value, exact_[i].value)) different.push_back(i);
  if (different.empty() || said_what_differs_) return;
  said_what_differs_ = true;
  LogStream line = log_info();
  line << "These are means over batches, as in Caffe. Over all samples";
  for (size_t n = 0; n < std::min(kMax, different.size()); ++n) {
    const size_t i = different[n];
    line << (n > 0 ? ", " : " ") << one_word(score_name(scores_, i)) << " is " << Shown{exact_[i].value} << " (not "
         << Shown{scores_[i].value} << ")";
  }
  if (different.size() > kMax) line << ", and " << different.size() - kMax << " more differ";
  line << ". test_epoch: true and cortado test count samples.";
}

bool Tester::run(const std::function<bool(int done)>& go_on, TestRounds* rounds) {
  begin();
  const bool whole = share_.ranks > 1 ? run_rounds(go_on, *rounds) : run_alone(go_on);
  if (whole) take_scores();
  return whole;
}

bool Tester::run_alone(const std::function<bool(int done)>& go_on) {
  int done = 0;
  for (; done < batches() && go_on(done); ++done) add_batch(done, run_batch(done));
  passes_ += uint64_t(done);
  return done == batches();
}

bool Tester::run_rounds(const std::function<bool(int done)>& go_on, TestRounds& rounds) {
  int done = 0;
  while (done < batches() && go_on(done)) {
    const TestRound round = {done, pace_};
    const auto began = std::chrono::steady_clock::now();
    rounds.begin(index_, round);
    const std::vector<std::vector<double>> words = rounds.gather(run_own(round));
    choose_pace(std::chrono::duration<double>(std::chrono::steady_clock::now() - began).count(), words_.size());
    done += add_round(round, words);
  }
  const bool whole = done == batches();
  if (done > 0) rounds.end(index_, whole);
  end(whole);
  return whole;
}

/// Adds the scores of the ranks' batches in the order of batches, and returns their number.
int Tester::add_round(const TestRound& round, const std::vector<std::vector<double>>& words) {
  std::vector<const double*> next;
  for (const std::vector<double>& of_rank : words) next.push_back(of_rank.data());
  const int64_t end = std::min<int64_t>(round.first + round.each * share_.ranks, batches());
  for (int64_t batch = round.first; batch < end; ++batch) {
    const double*& at = next[size_t(batch % share_.ranks)];
    OutputReader& outputs = outputs_of(int(batch));
    const double loss = *at++;
    at = outputs.unpack(at);
    add_batch(int(batch), loss);
  }
  return int(end - round.first);
}

/// Chooses the batches per round: many if batches are quick, but few enough to react to requests. This does not affect
/// the results.
void Tester::choose_pace(double seconds, size_t words) {
  constexpr double kShort = 0.1, kLong = 0.4;
  constexpr size_t kMaxWords = size_t(1) << 17;
  const int64_t most = std::max<int64_t>(1, batches() / (8 * share_.ranks));
  if (seconds > kLong || words > kMaxWords)
    pace_ = std::max<int64_t>(1, pace_ / 2);
  else if (seconds < kShort && 2 * words < kMaxWords)
    pace_ = std::min(2 * pace_, most);
}

void Tester::begin() {
  began_ = net_.positions();
  sums_.clear();
  if (records_ > 0) rewind();
}

std::span<const double> Tester::run_own(const TestRound& round) {
  words_.clear();
  for (int64_t k = 0; k < round.each; ++k) {
    const int64_t batch = round.first + k * share_.ranks + share_.rank;
    if (batch >= batches()) break;
    words_.push_back(run_batch(int(batch)));
    outputs_of(int(batch)).pack(words_);
  }
  return words_;
}

void Tester::end(bool whole) {
  move_data(whole);
  if (whole) passes_ += uint64_t(batches());
}

/// Moves the data to the position that a single process would have. In the last round this rank may have read more or
/// less than its share. A rank without batches never reads.
void Tester::move_data(bool whole) {
  const int64_t own = (batches_ - share_.rank + share_.ranks - 1) / share_.ranks;
  if (own <= 0) return;
  for (size_t i = 0; i < began_.size(); ++i) {
    const auto& [layer, began] = began_[i];
    const uint64_t from = records_ > 0 ? 0 : began, read = whole ? net_.positions()[i].second - from : 0;
    const uint64_t to = whole ? from + read / uint64_t(own * share_.ranks) * uint64_t(batches_) : began;
    if (to != from + read || !whole) net_.seek(layer, to);
  }
}

}  // namespace cortado
