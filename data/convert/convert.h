#pragma once

// Datasets in other formats, made into LMDB. Each function builds the database aside and puts it in place only when it
// is whole. Keys and values are Caffe's, so that either program reads the other's databases. Samples that cannot be
// used are collected in the report; unless skip_bad, one is enough for the database not to be kept (report.kept is
// false); with it, more than most_bad of all are.

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "data/inspect/odd_images.h"
#include "data/progress.h"

namespace cortado::data {

/// A sample that was left out. `file` is the image's, or, with a line, the list's that names it.
struct Rejected {
  std::string file;
  int64_t line = 0;
  std::string reason;
};

/// Things that are counted, and the first 20 by name.
struct Noted {
  int64_t count = 0;
  std::vector<std::string> first;

  void add(const std::string& name) {
    if (++count <= 20) first.push_back(name);
  }
};

/// `folder`: what one may not expect.
struct FolderNotes {
  Noted nested;    ///< folders below classes' folders, from which images were taken
  Noted loose;     ///< files beside the classes' folders, passed over
  Noted empty;     ///< classes' folders without a file
  Noted unchosen;  ///< folders beside those to train and to test with, passed over
};

struct ConvertReport {
  int64_t written = 0;
  int64_t rejected = 0;                   ///< how many
  std::vector<Rejected> rejects;          ///< the first 20 of each kind
  std::map<std::string, int64_t> untold;  ///< how many more there are of a kind, which its first reason stands for
  int64_t skipped = 0;  ///< hidden files and folders, and what systems leave beside images: no samples, and not bad
  bool kept = false;    ///< the database is in place
  int channels = 0, height = 0, width = 0;  ///< of the first sample (0: encoded, not known)
  int least_height = 0, most_height = 0, least_width = 0, most_width = 0;  ///< of all samples, where it is known
  int64_t bytes = 0;                                                       ///< of the records that were written
  OddImages odd;                                                           ///< images: doubles and black ones
  bool mixed_sizes = false;          ///< not all have that size: fit for training only with crop_size or resizing
  bool mixed_channels = false;       ///< nor that number of channels, as files that were kept may
  std::vector<int64_t> per_label;    ///< samples of each label 0, 1, ...; empty when labels pass 100000 or are negative
  std::vector<std::string> classes;  ///< `folder`: class names by label
  FolderNotes folders;
  std::string label_map;  ///< `annoset`: the label map that was written; "": none

  /// Of two sets: of the test set, and all that is said above is of the training set.
  struct {
    int64_t written = 0;
    std::vector<int64_t> per_label;
  } test;
};

struct ConvertOptions {
  std::string output;  ///< the LMDB folder to make
  bool force = false;  ///< replace an existing one
  bool skip_bad = false;
  double most_bad = 1;  ///< with skip_bad: a larger share than this of bad samples is an error all the same
  Progress progress = {};
};

/// MNIST's format: an images file (idx3, or idx4 with channels: N x C x H x W) and a labels file (idx1), each plain or
/// .gz. Keys "%08d". Throws Error(kIo/kData).
struct IdxOptions : ConvertOptions {
  std::string images, labels;
};
ConvertReport convert_idx(const IdxOptions& options);

/// CIFAR-10's binary batches: a label byte (or `label_bytes`, of which the last counts: CIFAR-100) and 3 x 32 x 32
/// bytes. Keys "%05d", counted over all files. The file's colour order (red, green, blue) is kept, as Caffe's tool
/// does.
struct CifarOptions : ConvertOptions {
  std::vector<std::string> files;
  int label_bytes = 1;
};
ConvertReport convert_cifar(const CifarOptions& options);

/// Caffe's other kind of database, of Datums. Keys and values stay as they are.
struct LeveldbOptions : ConvertOptions {
  std::string folder;
};
ConvertReport convert_leveldb(const LeveldbOptions& options);

/// What convert_imageset and `folder` do to images.
struct ImageOptions : ConvertOptions {
  bool gray = false;
  bool shuffle = false;  ///< with `seed`
  uint64_t seed = 1;
  int resize_height = 0, resize_width = 0;  ///< both or none
  int short_side = 0;       ///< else the shorter side is brought to this length, and the aspect stays; 0: it is not
  bool check_size = false;  ///< a sample of another size than the first is rejected
  bool encoded = false;     ///< keep image files; as they are where nothing has to be changed
  std::string encode_type;  ///< "jpg", "png", ...; empty: by the file's extension
  double test_share = 0;    ///< below 1; not 0: convert into two sets, see below
};

/// What a conversion with test_share makes in the folder `output`, all of it or nothing: the databases train_lmdb and
/// test_lmdb, and the classes' names in kLabelsPart (numbers where there are no names, no file where labels are
/// negative or pass 100000). Of each class that share of its images, rounded, is for testing: at least one where there
/// are two, never all. Which ones is a function of (seed, label, order of the images). Throws Error(kData) where no
/// class has two.
inline constexpr const char *kTrainPart = "train_lmdb", *kTestPart = "test_lmdb";

/// convert_imageset: `list` has lines "path label" (the label is what follows the last space); `root` is put before
/// each path as it is. Keys "%08d_path", counted by line.
struct ImagesetOptions : ImageOptions {
  std::string root, list;
};
ConvertReport convert_imageset(const ImagesetOptions& options);

/// Images with objects, as records of AnnotatedData. `list` has lines "image annotation", paths behind `root` as it is;
/// an annotation is PASCAL VOC's XML or, .txt, lines "LABEL XMIN YMIN XMAX YMAX" in pixels. A list that ends in .json
/// is COCO's instances instead. `annotation_type` overrules the names: "xml" or "txt". Classes get their numbers from
/// `label_map`, a caffe::LabelMap as text; without it names are numbered from 1, sorted, in a map of their own. It is
/// the database's. Keys as convert_imageset's.
struct AnnosetOptions : ImageOptions {
  std::string root, list, label_map, annotation_type;
};
ConvertReport convert_annoset(const AnnosetOptions& options);

/// One folder per class: names sorted, labels 0, 1, ... in that order. A folder with train/ and val/ (valid/,
/// validation/, test/), each with folders of classes, becomes two sets as with a test_share. Images are sorted by name
/// and then, whatever `shuffle` says, shuffled unless `keep_order`: a dataset sorted by class does not train. Hidden
/// files and folders, Thumbs.db and the like are passed over. The folders' names are the database's.
struct FolderOptions : ImageOptions {
  std::string folder;
  bool keep_order = false;
};
ConvertReport convert_folder(const FolderOptions& options);

/// Shards of WebDataset: archives (data/archive/archive.h) with KEY.jpg (.png, ...) and KEY.cls, a whole number or a
/// name. Where they are names, they are numbered and written as `folder` does. Images keep the shards' order unless
/// `shuffle`.
struct TarOptions : ImageOptions {
  std::vector<std::string> shards;
};
ConvertReport convert_tar(const TarOptions& options);

/// A table with commas, semicolons or tabs; a first line with names such as path and label is its header. Rows are a
/// path (from the table's folder) and a label, a number or a name; or a label and a square image's pixels, row by row,
/// grey or three planes. Throws Error(kData).
struct CsvOptions : ImageOptions {
  std::string table;
};
ConvertReport convert_csv(const CsvOptions& options);

}  // namespace cortado::data
