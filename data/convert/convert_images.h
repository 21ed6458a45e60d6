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

/// One image that is to become a record.
struct ImageEntry {
  std::string file;  ///< where it is
  std::string name;  ///< as it appears in the key and in the report
  int32_t label = 0;
  int64_t line = 0;                                    ///< in a list file; 0: none
  std::shared_ptr<const ArchivedImage> archived = {};  ///< null: the image is the whole of `file`
  bool tests = false;                                  ///< it goes to the test set, where there are two
  bool annotated = false;                              ///< its record is an AnnotatedDatum with
  std::vector<Object> objects = {};
  ImageExtent annotated_extent = {};  ///< of the image, as its annotation says; 0x0: it does not say
};

/// What a folder or a list holds.
struct FoundImages {
  std::vector<ImageEntry> entries;
  std::string list;                  ///< the file that the entries' lines are of
  std::vector<Rejected> bad_lines;   ///< of the list
  std::vector<std::string> classes;  ///< names by label, where they are known
  std::string label_map;             ///< of the objects' classes, as text
  int64_t skipped = 0;               ///< ConvertReport's
  FolderNotes folders;               ///< ConvertReport's
  bool parted = false;               ///< entries say already which set they go to
};

/// Checks what no image is needed for. Throws Error(kUsage).
void check_image_options(const ImageOptions& options);

/// Whether a file or folder of this name is hidden or was left by a system among images: .DS_Store, Thumbs.db.
bool is_no_sample(std::string_view name);

/// All that was found as one database, or as two, with the names of its classes where they are known.
ConvertReport convert_images(FoundImages found, const ImageOptions& options);

/// convert_images() with a test_share, or of what is parted.
ConvertReport convert_in_two(FoundImages found, const ImageOptions& options);

/// Adds the images in order (shuffled first where that is asked for), with keys "%08d_name"; what cannot be used is
/// rejected, by its line in the list where it has one. Those of the test set go to `tests`. Returns which are doubles,
/// or black.
OddImages add_images(FoundImages found, const ImageOptions& options, DatasetBuilder& builder,
                     DatasetBuilder* tests = nullptr);

/// Opens every image, and rejects those that add_images() could not use.
void leave_out_bad(FoundImages& found, const ImageOptions& options, DatasetBuilder& builder);

}  // namespace cortado::data
