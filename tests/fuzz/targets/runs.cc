// Files of a run folder: metrics, TensorBoard events, the record.
#include "tests/fuzz/fuzzed.h"
#include "tools/runs/metrics_file.h"
#include "tools/runs/run_comparison.h"
#include "tools/runs/run_record.h"
#include "tools/runs/tensorboard/record_file.h"

void cortado::fuzz::fuzz(std::string_view input) {
  runs::metrics_in(input);
  runs::records_in(input);
  expect_answer([&] { runs::read_record(FuzzedFile(input).path()); });
  const std::string_view first = take_text(input);
  runs::line_differences(std::string(first), std::string(input));
}
