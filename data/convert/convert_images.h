#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "data/archive/archive.h"
#include "data/convert/convert.h"
#include "data/convert/dataset_builder.h"
#include "data/formats/annotations.h"
#include "data/object.h"

namespace cortado::data {

/// An image in an archive.
struct ArchivedImage {
  std::shared_ptr<const Archives> archives;
  ArchiveMember member;
};

/// An image to convert to a record.
struct ImageEntry {
  std::string file;  ///< its path
  std::string name;  ///< its name in the key and in the report
  int32_t label = 0;
  int64_t line = 0;                                    ///< in a list file; 0: none
  std::shared_ptr<const ArchivedImage> archived = {};  ///< null: the image is the whole `file`
  bool tests = false;                                  ///< for the test set, if there are two sets
  bool annotated = false;                              ///< its record is an AnnotatedDatum with
  std::vector<Object> objects = {};
  ImageExtent annotated_extent = {};  ///< the image size in its annotation; 0x0: not given
};

/// The contents of a folder or a list.
struct FoundImages {
  std::vector<ImageEntry> entries;
  std::string list;                  ///< the list file to which the entries' lines refer
  std::vector<Rejected> bad_lines;   ///< invalid lines of the list
  std::vector<std::string> classes;  ///< names by label, if known
  std::string label_map;             ///< of the objects' classes, as text
  int64_t skipped = 0;               ///< ConvertReport's
  FolderNotes folders;               ///< ConvertReport's
  bool parted = false;               ///< entries are already assigned to the two sets
};

/// Checks that can be made without an image. Throws Error(kUsage).
void check_image_options(const ImageOptions& options);

/// Whether a file or folder of this name is hidden or a system file: .DS_Store, Thumbs.db.
bool is_no_sample(std::string_view name);

/// Converts the images to one database, or to two, with the names of classes if known.
ConvertReport convert_images(FoundImages found, const ImageOptions& options);

/// convert_images() into two sets, by test_share or as found.
ConvertReport convert_in_two(FoundImages found, const ImageOptions& options);

/// Adds the images in order (shuffled first if requested), with keys "%08d_name". Rejects unusable ones, by their line
/// if they are from a list. Images of the test set go to `tests`. Returns duplicates and black images.
OddImages add_images(FoundImages found, const ImageOptions& options, DatasetBuilder& builder,
                     DatasetBuilder* tests = nullptr);

/// Opens every image and rejects those that add_images() could not use.
void leave_out_bad(FoundImages& found, const ImageOptions& options, DatasetBuilder& builder);

}  // namespace cortado::data
