#include "solvers/average_precision.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "core/error.h"

namespace cortado {
namespace {

/// Class 1 has three objects, which the first, the third and the fourth of its detections find; class 2 has one that
/// none finds; class 3 has none, and a detection all the same.
const std::vector<float> kRows = {-1, 1, 3,    -1, -1,  //
                                  -1, 2, 1,    -1, -1,  //
                                  -1, 3, 0,    -1, -1,  //
                                  0,  1, 0.7f, 1,  0,   //
                                  0,  1, 0.9f, 1,  0,   //
                                  0,  1, 0.8f, 0,  1,   //
                                  1,  1, 0.6f, 1,  0,   //
                                  1,  3, 0.5f, 0,  1,   //
                                  0,  0, 0,    0,  0};

DetectionTally tally_of(const std::vector<float>& rows) {
  DetectionTally tally(4);
  tally.add(rows.data(), int64_t(rows.size()) / kJudgedWidth);
  return tally;
}

TEST(AveragePrecision, IsTheAreaUnderPrecisionOverRecall) {
  // Precision 1, 1/2, 2/3, 3/4 at recall 1/3, 1/3, 2/3, 1.
  const DetectionTally tally = tally_of(kRows);
  EXPECT_NEAR(tally.average_precision(1, ApVersion::kIntegral), (1 + 2.0 / 3 + 0.75) / 3, 1e-6);
  EXPECT_NEAR(tally.average_precision(1, ApVersion::kMaxIntegral), (1 + 0.75 + 0.75) / 3, 1e-6);
  EXPECT_NEAR(tally.average_precision(1, ApVersion::k11Point), (4 * 1 + 7 * 0.75) / 11, 1e-6);
}

TEST(AveragePrecision, ItsMeanIsOverClassesThatHaveObjects) {
  const DetectionTally tally = tally_of(kRows);
  EXPECT_EQ(tally.average_precision(2, ApVersion::kIntegral), 0);
  EXPECT_FALSE(tally.has_objects(3));
  EXPECT_NEAR(tally.mean(ApVersion::kMaxIntegral), (1 + 0.75 + 0.75) / 3 / 2, 1e-6);
  EXPECT_EQ(DetectionTally(4).mean(ApVersion::kIntegral), 0);
}

TEST(AveragePrecision, IsThatOfAllBatches) {
  DetectionTally whole = tally_of(kRows), sum(4);
  for (size_t row = 0; row < kRows.size(); row += 15)
    sum.add(tally_of({kRows.begin() + long(row), kRows.begin() + long(row + 15)}));
  for (const ApVersion version : {ApVersion::kIntegral, ApVersion::kMaxIntegral, ApVersion::k11Point})
    EXPECT_EQ(sum.mean(version), whole.mean(version));
  sum.clear();
  EXPECT_EQ(sum.mean(ApVersion::kIntegral), 0);
}

TEST(AveragePrecision, PassesOverRowsThatAreNone) {
  std::vector<float> rows = kRows;
  for (const float bad : {-1.0f, 4.0f, 1e20f, std::stof("nan")}) rows.insert(rows.end(), {0, bad, 0.9f, 0, 1});
  EXPECT_EQ(tally_of(rows).mean(ApVersion::kIntegral), tally_of(kRows).mean(ApVersion::kIntegral));
}

TEST(AveragePrecision, KnowsItsVersionsByName) {
  EXPECT_EQ(ap_version_of("Integral"), ApVersion::kIntegral);
  EXPECT_EQ(ap_version_of("MaxIntegral"), ApVersion::kMaxIntegral);
  EXPECT_EQ(ap_version_of("11point"), ApVersion::k11Point);
  EXPECT_THROW(ap_version_of("12point"), FieldError);
}

/// Of one rank, sent to another.
TEST(DetectionTally, IsItselfAgainAsNumbers) {
  const DetectionTally tally = tally_of(kRows);
  DetectionTally other = tally_of({kRows.begin() + 5, kRows.begin() + 35}), empty(4);
  std::vector<double> words = {7};
  tally.pack(words);
  DetectionTally(4).pack(words);
  EXPECT_EQ(empty.unpack(other.unpack(words.data() + 1)), words.data() + words.size());
  for (const ApVersion version : {ApVersion::kIntegral, ApVersion::kMaxIntegral, ApVersion::k11Point}) {
    EXPECT_GT(tally.mean(version), 0);
    EXPECT_EQ(other.mean(version), tally.mean(version));
    EXPECT_EQ(empty.mean(version), 0);
    for (int64_t c = 0; c < 4; ++c) EXPECT_EQ(other.average_precision(c, version), tally.average_precision(c, version));
  }
}

}  // namespace
}  // namespace cortado
