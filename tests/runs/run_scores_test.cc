#include "tools/runs/run_scores.h"

#include <gtest/gtest.h>

namespace cortado::runs {
namespace {

std::string test_row(int iter, int net, const std::string& outputs) {
  return "{\"t\":1,\"ev\":\"test\",\"iter\":" + std::to_string(iter) + ",\"net\":" + std::to_string(net) +
         ",\"outputs\":{" + outputs + "}}\n";
}

std::string text_of(const std::vector<BestScore>& best) {
  std::string text;
  for (const BestScore& one : best)
    text += (one.is_main ? "*" : "") + one.name + " " + std::to_string(int(one.value)) + "@" +
            std::to_string(one.iter) + " " + direction_word(one.lower_is_better) + ";";
  return text;
}

const std::string kTests = test_row(0, 0, R"("gain":1,"loss":9,"part":9,"part[1]":9)") +
                           test_row(5, 0, R"("gain":4,"loss":3,"part":7,"part[1]":6)") +
                           test_row(9, 0, R"("gain":2,"loss":5,"part":8,"part[1]":"NaN")") +
                           test_row(9, 1, R"("gain":6)");

TEST(RunScores, AreBestInTheRecordedDirection) {
  const std::string start = R"({"t":1,"ev":"run_start","iter":0,"scores":[{"name":"loss","best":"highest"},)"
                            R"({"name":"gain","best":"lowest","main":true},{"name":"part","best":"highest"},)"
                            R"({"name":"#1 gain","best":"lowest"}]})"
                            "\n";
  EXPECT_EQ(text_of(best_scores(metrics_in(start + kTests))),
            "loss 5@9 highest;*gain 2@9 lowest;part 8@9 highest;#1 gain 6@9 lowest;");
  EXPECT_EQ(names_of_lowest(metrics_in(start + kTests)), (std::vector<std::string>{"#1 gain", "gain"}));
}

TEST(RunScores, OfOlderProgramsHaveTheDirectionsOfTheirNames) {
  EXPECT_EQ(text_of(best_scores(metrics_in(kTests))),
            "*gain 4@5 highest;loss 3@5 lowest;part 8@9 highest;#1 gain 6@9 highest;");
}

TEST(RunScores, LeaveOutTestsBeforeTheFirstUpdate) {
  EXPECT_TRUE(best_scores(metrics_in(test_row(0, 0, R"("gain":1)"))).empty());
}

}  // namespace
}  // namespace cortado::runs
