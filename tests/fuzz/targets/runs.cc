// Files of a run folder: metrics, statistics of layers, TensorBoard events, the record.
#include "tests/fuzz/fuzzed.h"
#include "tools/report/curves.h"
#include "tools/runs/metrics_file.h"
#include "tools/runs/run_comparison.h"
#include "tools/runs/run_record.h"
#include "tools/runs/tensorboard/record_file.h"

void cortado::fuzz::fuzz(std::string_view input) {
  tools::curves_of(runs::metrics_in(input));
  runs::records_in(input);
  const std::string path = FuzzedFile(input).path();
  expect_answer([&] { runs::read_record(path); });
  expect_answer([&] { tools::layer_curves(path); });
  const std::string_view first = take_text(input);
  runs::line_differences(std::string(first), std::string(input));
}
