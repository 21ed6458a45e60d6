#include "core/error.h"
#include "data/convert/class_folders.h"

namespace cortado::data {

ConvertReport convert_folder(const FolderOptions& given) {
  FolderOptions options = given;
  options.shuffle = !given.keep_order;
  check_image_options(options);
  FoundImages found = find_in_class_folders(options.folder);
  if (found.parted && options.test_share > 0)
    throw Error(ExitCode::kUsage, options.folder + " already has training and test folders",
                "convert it without --split, or name one of its folders");
  return convert_images(std::move(found), options);
}

}  // namespace cortado::data
