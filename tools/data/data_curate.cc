// `cortado data merge`, `split`, `shuffle` and `export`: derive datasets from others.
#include <iostream>

#include "core/files/file.h"
#include "core/text/text.h"
#include "data/curate/curate.h"
#include "tools/data/data_command.h"
#include "tools/options/run_options.h"
#include "tools/output/output_name.h"
#include "tools/output/progress.h"
#include "tools/output/terminal.h"

namespace cortado::tools {

namespace {

/// The output folder, and the progress line.
struct CurateWork {
  explicit CurateWork(const Arguments& arguments, const std::string& title) : progress(title) {
    options.output = arguments.text("output");
    check_output_name(options.output, "a dataset", {".lmdb"});
    options.force = arguments.knows("force") && arguments.on("force");
    options.progress = progress.callback();
  }

  CountedProgress progress;
  data::CurateOptions options;
};

}  // namespace

int run_data_merge(const Arguments& arguments) {
  CurateWork work(arguments, "merge");
  const std::vector<std::string>& lmdbs = arguments.operands();
  const data::Merged merged = data::merge_datasets(lmdbs, work.options);
  work.progress.finish();
  std::cout << work.options.output << ": " << count_of(merged.written, "record", "records") << " of "
            << count_of(int64_t(lmdbs.size()), "dataset", "datasets");
  if (!merged.names.empty()) std::cout << ", " << count_of(int64_t(merged.names.size()), "class", "classes");
  std::cout << (merged.relabelled ? ", renumbered by name" : "")
            << "; the sets are in sequence: mix them with `data shuffle`, or with shuffle: true in the data layer\n";
  return 0;
}

int run_data_split(const Arguments& arguments) {
  const double share = split_of(arguments);
  CurateWork work(arguments, "split");
  const data::SplitCounts counts =
      data::split_dataset(arguments.operands()[0], share, uint64_t(arguments.integer("seed")), work.options);
  work.progress.finish();
  const std::string& output = work.options.output;
  std::cout << join_path(output, data::kTrainPart) << ": " << count_of(counts.train, "record", "records") << "\n"
            << join_path(output, data::kTestPart) << ": " << count_of(counts.test, "record", "records") << "\n";
  return 0;
}

int run_data_shuffle(const Arguments& arguments) {
  CurateWork work(arguments, "shuffle");
  const int64_t records =
      data::shuffle_dataset(arguments.operands()[0], uint64_t(arguments.integer("seed")), work.options);
  work.progress.finish();
  std::cout << work.options.output << ": " << count_of(records, "record", "records") << " in random order\n";
  return 0;
}

int run_data_export(const Arguments& arguments) {
  CurateWork work(arguments, "export");
  const data::Exported exported = data::export_dataset(arguments.operands()[0], work.options);
  work.progress.finish();
  std::cout << work.options.output << ": " << count_of(exported.files, "image", "images") << " in "
            << count_of(exported.classes, "folder", "folders") << "\n";
  return 0;
}

}  // namespace cortado::tools
