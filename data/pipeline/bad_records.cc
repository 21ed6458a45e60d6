#include "data/pipeline/bad_records.h"

#include <algorithm>

#include "core/log.h"

namespace cortado::data {

namespace {

[[noreturn]] void throw_one_too_many(const Error& error, int64_t most) {
  Diagnostic mistake = error.mistakes().front();
  mistake.hint = (most == 1 ? std::string("one bad record was skipped before")
                            : std::to_string(most) + " bad records were skipped before") +
                 " this one, the limit of --skip-bad; run `cortado data verify` to list all";
  throw Error(error.code(), std::move(mistake));
}

}  // namespace

void BadRecords::take(std::vector<BadRecord>& met) {
  std::ranges::stable_sort(met, {}, &BadRecord::sample);
  for (const BadRecord& bad : met) {
    if (known_.contains(bad.number)) continue;
    if (int64_t(known_.size()) >= most_) throw_one_too_many(bad.error, most_);
    known_.insert(bad.number);
    log_warning() << "skipped, " << known_.size() << " of at most " << most_
                  << " bad records: " << bad.error.mistakes().front().message;
  }
  met.clear();
}

}  // namespace cortado::data
