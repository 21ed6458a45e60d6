// Splits images into a training and a test set: two databases that are built in a temporary folder, which is renamed
// when both are complete.
#include <algorithm>

#include "core/error.h"
#include "data/convert/convert_images.h"
#include "data/convert/dataset_builder.h"
#include "data/convert/two_sets_folder.h"
#include "data/formats/labels.h"

namespace cortado::data {

namespace {

/// Marks the images for the test set and returns their number.
int64_t mark_tests(std::vector<ImageEntry>& entries, double share, uint64_t seed) {
  std::vector<int32_t> labels;
  for (const ImageEntry& entry : entries) labels.push_back(entry.label);
  const std::vector<bool> tests = choose_tests(labels, share, seed);
  for (size_t i = 0; i < entries.size(); ++i) entries[i].tests = tests[i];
  return std::count(tests.begin(), tests.end(), true);
}

/// Throws Error(kData) if one of the sets would be empty.
void check_parts(const FoundImages& found, const ImageOptions& options) {
  for (const bool tests : {false, true})
    if (std::none_of(found.entries.begin(), found.entries.end(),
                     [&](const ImageEntry& entry) { return entry.tests == tests; }))
      throw file_error(ExitCode::kData, options.output,
                       std::string("it has no image to ") + (tests ? "test" : "train") + " with");
}

/// Why no image is left for testing; `total` images were found.
std::string why_untested(const FoundImages& found, int64_t total) {
  const int64_t left_out = total - int64_t(found.entries.size());
  std::string why = found.entries.size() < 2 ? "there are not two images" : "no class has two images";
  why += ", one for training and one for testing";
  if (left_out > 0) why += "; " + std::to_string(left_out) + " of " + std::to_string(total) + " cannot be used";
  return why;
}

void add_report(ConvertReport& train, const ConvertReport& tests) {
  train.mixed_sizes |= tests.mixed_sizes || train.height != tests.height || train.width != tests.width;
  train.mixed_channels |= tests.mixed_channels || train.channels != tests.channels;
  train.least_height = std::min(train.least_height, tests.least_height);
  train.least_width = std::min(train.least_width, tests.least_width);
  train.most_height = std::max(train.most_height, tests.most_height);
  train.most_width = std::max(train.most_width, tests.most_width);
  train.bytes += tests.bytes;
  train.test = {tests.written, tests.per_label};
}

/// A line for each label up to the highest; "" if labels cannot be lines of a file.
std::string all_labels_text(const ConvertReport& report) {
  if (report.per_label.empty()) return "";
  std::vector<std::string> names = report.classes;
  for (size_t label = names.size(); label < report.per_label.size(); ++label) names.push_back(std::to_string(label));
  return labels_text(names);
}

}  // namespace

ConvertReport convert_in_two(FoundImages found, const ImageOptions& options) {
  const std::vector<std::string> classes = found.classes;
  const std::string label_map = found.label_map;
  labels_text(classes);  // reports invalid names before the work begins
  TwoSetsFolder folder(options.output, options.force);
  const FolderNotes folders = found.folders;
  const int64_t skipped = found.skipped, total = int64_t(found.entries.size() + found.bad_lines.size());
  int64_t train_done = 0, tests_done = 0;
  const auto options_of = [&](const std::string& part, int64_t& done) {
    ImageOptions own = options;
    own.output = folder.part(part);
    own.progress = [&](int64_t now, int64_t) {
      done = now;
      if (options.progress) options.progress(train_done + tests_done, total);
    };
    return own;
  };
  const ImageOptions train = options_of(kTrainPart, train_done), tests = options_of(kTestPart, tests_done);
  DatasetBuilder train_builder(train, total), tests_builder(tests, total);
  // The split is over usable images only, so all images are checked first.
  if (options.skip_bad) leave_out_bad(found, options, train_builder);
  if (found.parted)
    check_parts(found, options);
  else if (mark_tests(found.entries, options.test_share, options.seed) == 0)
    throw file_error(ExitCode::kData, options.output, why_untested(found, total), "convert them without --split");
  const OddImages odd = add_images(std::move(found), options, train_builder, &tests_builder);
  ConvertReport report = train_builder.finish();
  report.odd = odd;
  report.classes = classes;
  report.skipped = skipped;
  report.folders = folders;
  if (!report.kept) return report;
  add_report(report, tests_builder.finish());
  folder.commit({label_map.empty() ? all_labels_text(report) : "", label_map});
  return report;
}

}  // namespace cortado::data
