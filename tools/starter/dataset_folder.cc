#include "tools/starter/dataset_folder.h"

#include <algorithm>

#include "core/error.h"
#include "core/files/file.h"
#include "data/convert/convert.h"
#include "data/formats/labels.h"
#include "data/inspect/class_names.h"
#include "data/lmdb/dataset_names.h"
#include "data/lmdb/lmdb.h"

namespace cortado::tools {

namespace {

constexpr int64_t kDatasetFolderDecoded = 4096,
                  kDatasetFolderPixels =
                      2000000000;  ///< limits of the images whose colours are measured; more do not change the result

constexpr const char* kSameNames =
    "make both sets with one list of classes: `cortado convert folder` with --split, or of a folder with train/ and "
    "val/";

void check_labels(const DatasetFolder& folder) {
  const int64_t seen = folder.stats.classes(), named = folder.classes();
  if (seen == 0)
    throw file_error(ExitCode::kData, folder.train,
                     folder.stats.numbers.count > 0
                         ? "it has labels for regression, such as " + data::label_text(folder.stats.numbers.least) +
                               ", which are not classes"
                         : "it has negative labels, which cannot be classes");
  if (seen > named)
    throw file_error(ExitCode::kData, folder.labels,
                     "it names " + std::to_string(named) + " classes, and " + folder.train + " has labels up to " +
                         std::to_string(seen - 1));
  if (named < 2)
    throw file_error(ExitCode::kData, folder.path, "a classifier needs at least two classes, but there is one",
                     "put the images of each class into a folder of its own, and convert them again");
}

}  // namespace

DatasetFolder read_dataset_folder(const std::string& path, const data::Progress& progress) {
  DatasetFolder folder;
  folder.path = without_trailing_slashes(path);
  folder.train = join_path(folder.path, data::kTrainPart);
  folder.test = join_path(folder.path, data::kTestPart);
  for (const std::string& part : {folder.train, folder.test})
    if (!file_exists(part))
      throw file_error(ExitCode::kIo, part, "the dataset does not exist",
                       "make " + folder.train + " and " + folder.test + " with `cortado convert folder photos -o " +
                           folder.path + " --split=0.2`");
  folder.stats = data::dataset_stats(folder.train, {.most_decoded = kDatasetFolderDecoded,
                                                    .most_pixels = kDatasetFolderPixels,
                                                    .find_odd = false,
                                                    .progress = progress});
  if (folder.stats.decoded == 0)
    throw file_error(ExitCode::kData, folder.train, "none of its images can be read",
                     "`cortado data verify " + folder.train + "` lists the errors");
  folder.test_records = data::Lmdb::open(folder.test)->records();
  if (const std::string conflict = data::names_conflict(folder.train, folder.test); !conflict.empty())
    throw file_error(ExitCode::kData, folder.path, conflict, kSameNames);
  folder.labels = data::names_file_of(folder.train, data::kLabelsPart);
  if (!folder.labels.empty()) {
    folder.names = data::read_labels(folder.labels);
  } else {
    for (int64_t label = 0; label < folder.stats.classes(); ++label) folder.names.push_back(std::to_string(label));
  }
  check_labels(folder);
  return folder;
}

}  // namespace cortado::tools
