#include "core/files/file.h"
#include "data/convert/convert_images.h"
#include "data/sources/image_list.h"

namespace cortado::data {

ConvertReport convert_imageset(const ImagesetOptions& options) {
  check_image_options(options);
  FoundImages found;
  found.list = options.list;
  for_each_line(read_file_or_pipe(options.list, int64_t(1) << 32), [&](std::string_view line, int64_t number) {
    ListedImage listed;
    const std::string wrong = parse_image_line(line, listed);
    const std::string name(listed.name);
    if (!wrong.empty())
      found.bad_lines.push_back({options.list, number, wrong});
    else if (is_no_sample(file_name_of(name)))
      ++found.skipped;
    else
      found.entries.push_back({options.root + name, name, listed.label, number});
  });
  return convert_images(std::move(found), options);
}

}  // namespace cortado::data
