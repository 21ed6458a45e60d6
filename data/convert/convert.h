#pragma once

// Conversion of datasets in other formats to LMDB. Each function builds the database in a temporary folder and renames
// it when it is complete. Keys and values are Caffe's, so both programs can read each other's databases. Unusable
// samples are listed in the report. Without skip_bad, a single one prevents the database from being kept (report.kept
// is false). With it, the limit is the fraction most_bad of all samples.

#include <cstdint>
#include <limits>
#include <map>
#include <string>
#include <vector>

#include "data/inspect/odd_images.h"
#include "data/progress.h"

namespace cortado::data {

/// A rejected sample. `file` is the image, or, with a line, the list that names it.
struct Rejected {
  std::string file;
  int64_t line = 0;
  std::string reason;
};

/// A count, and the names of the first 20 items.
struct Noted {
  int64_t count = 0;
  std::vector<std::string> first;

  void add(const std::string& name) {
    if (++count <= 20) first.push_back(name);
  }
};

/// For `folder`: unexpected files and folders.
struct FolderNotes {
  Noted nested;    ///< folders below classes' folders that contain images
  Noted loose;     ///< skipped files next to the classes' folders
  Noted empty;     ///< classes' folders without files
  Noted unchosen;  ///< skipped folders next to the training and test sets
};

struct ConvertReport {
  int64_t written = 0;
  int64_t rejected = 0;                   ///< number of rejected samples
  std::vector<Rejected> rejects;          ///< the first 20 of each kind
  std::map<std::string, int64_t> untold;  ///< the number of further ones of each kind, by their first reason
  int64_t skipped = 0;  ///< hidden files and folders, and system files among images; these do not count as bad samples
  bool kept = false;    ///< the database was completed
  int channels = 0, height = 0, width = 0;  ///< of the first sample (0: encoded, unknown)
  int least_height = 0, most_height = 0, least_width = 0, most_width = 0;  ///< of all samples, if known
  int64_t bytes = 0;                                                       ///< of the records that were written
  OddImages odd;                                                           ///< for images: duplicates and black ones
  bool mixed_sizes = false;          ///< sizes differ: training needs crop_size or resizing
  bool mixed_channels = false;       ///< numbers of channels differ, which is possible with encoded files
  std::vector<int64_t> per_label;    ///< samples of each label 0, 1, ...; empty if labels exceed 100000 or are negative
  std::vector<std::string> classes;  ///< for `folder`: class names by label
  FolderNotes folders;
  std::string label_map;  ///< for `annoset`: the label map that was written; "": none

  /// With two sets: the test set. All fields above are for the training set.
  struct {
    int64_t written = 0;
    std::vector<int64_t> per_label;
  } test;
};

struct ConvertOptions {
  std::string output;  ///< the LMDB folder to create
  bool force = false;  ///< replace an existing one
  bool skip_bad = false;
  double most_bad = 1;  ///< with skip_bad: a larger fraction of bad samples is an error
  int64_t max_bad = std::numeric_limits<int64_t>::max();  ///< with skip_bad: more bad samples are an error
  Progress progress = {};
};

/// MNIST's format: an image file (idx3, or idx4 with channels: N x C x H x W) and a label file (idx1), each plain or
/// .gz. Keys are "%08d". Throws Error(kIo/kData).
struct IdxOptions : ConvertOptions {
  std::string images, labels;
};
ConvertReport convert_idx(const IdxOptions& options);

/// CIFAR-10's binary batches: a label byte (or `label_bytes`, of which the last is used: CIFAR-100) and 3 x 32 x 32
/// bytes. Keys are "%05d", counted over all files. The file's colour order (red, green, blue) is kept, as in Caffe's
/// tool.
struct CifarOptions : ConvertOptions {
  std::vector<std::string> files;
  int label_bytes = 1;
};
ConvertReport convert_cifar(const CifarOptions& options);

/// LevelDB, Caffe's other database, with Datums. Keys and values are copied unchanged.
struct LeveldbOptions : ConvertOptions {
  std::string folder;
};
ConvertReport convert_leveldb(const LeveldbOptions& options);

/// Options for images, of convert_imageset and `folder`.
struct ImageOptions : ConvertOptions {
  bool gray = false;
  bool shuffle = false;  ///< by `seed`
  uint64_t seed = 1;
  int resize_height = 0, resize_width = 0;  ///< both or neither
  int short_side = 0;       ///< otherwise resizes the shorter side, keeping the aspect ratio; 0: no resizing
  bool check_size = false;  ///< rejects samples whose size differs from the first one's
  bool encoded = false;     ///< store image files; unchanged files are not re-encoded
  std::string encode_type;  ///< "jpg", "png", ...; empty: from the file's extension
  double test_share = 0;    ///< below 1; if not 0, convert into two sets, see below
};

/// The output of a conversion with test_share, in the folder `output`, all of it or nothing: the databases train_lmdb
/// and test_lmdb, and the classes' names in kLabelsPart. It has numbers without names; it is missing if labels
/// are negative or exceed 100000. The test set gets this fraction of each class's images, rounded: at least one if
/// there are two, never all. The choice depends on (seed, label, order of the images). Throws Error(kData) if no class
/// has two images.
inline constexpr const char *kTrainPart = "train_lmdb", *kTestPart = "test_lmdb";

/// convert_imageset: `list` has lines "path label" (the label follows the last space). `root` is prepended to each path
/// as a string. Keys are "%08d_path", numbered by line.
struct ImagesetOptions : ImageOptions {
  std::string root, list;
};
ConvertReport convert_imageset(const ImagesetOptions& options);

/// Images with objects, as records of AnnotatedData. `list` has lines "image annotation"; `root` is prepended to both
/// paths. An annotation is PASCAL VOC's XML, or a .txt file with lines "LABEL XMIN YMIN XMAX YMAX" in pixels. A list
/// with the extension .json is COCO's instances instead. `annotation_type` ("xml" or "txt") overrides the extension.
/// Classes get their numbers from `label_map`, a caffe::LabelMap as text. Without it, names are sorted and numbered
/// from 1 in a new map. The map is stored with the database. Keys as for convert_imageset.
struct AnnosetOptions : ImageOptions {
  std::string root, list, label_map, annotation_type;
};
ConvertReport convert_annoset(const AnnosetOptions& options);

/// One folder per class: names are sorted and get labels 0, 1, ... in that order. A folder with train/ and val/
/// (valid/, validation/, test/), each with folders of classes, becomes two sets as with a test_share. Images are sorted
/// by name, then shuffled unless `keep_order`, regardless of `shuffle`, because training on a dataset sorted by class
/// fails. Hidden files and folders, Thumbs.db and the like are skipped. The folders' names are stored with the
/// database.
struct FolderOptions : ImageOptions {
  std::string folder;
  bool keep_order = false;
};
ConvertReport convert_folder(const FolderOptions& options);

/// Shards of WebDataset: archives (data/archive/archive.h) with KEY.jpg (.png, ...) and KEY.cls, an integer or a name.
/// Names are numbered and stored as for `folder`. Images keep the shards' order unless `shuffle`.
struct TarOptions : ImageOptions {
  std::vector<std::string> shards;
};
ConvertReport convert_tar(const TarOptions& options);

/// A table separated by commas, semicolons or tabs. A first line with names such as path and label is a header. Rows
/// are a path (relative to the table's folder) and a label, a number or a name; or a label and the pixels of a square
/// image, row by row, grey or three planes. Throws Error(kData).
struct CsvOptions : ImageOptions {
  std::string table;
};
ConvertReport convert_csv(const CsvOptions& options);

}  // namespace cortado::data
