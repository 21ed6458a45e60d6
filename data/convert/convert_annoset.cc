#include <algorithm>
#include <set>

#include "core/error.h"
#include "core/files/file.h"
#include "core/files/made_folders.h"
#include "data/convert/convert_images.h"
#include "data/formats/annotations.h"
#include "data/formats/labels.h"
#include "data/formats/text.h"
#include "data/image/image.h"
#include "data/sources/image_list.h"

namespace cortado::data {

namespace {

/// An image and its annotation.
struct Annotated {
  Annotated(ImageEntry image, Annotation annotation) : entry(std::move(image)), objects(std::move(annotation.objects)) {
    entry.annotated = true;
    entry.annotated_extent = annotation.extent;
  }

  ImageEntry entry;
  std::vector<NamedObject> objects;
};

/// Numbers of classes by name. Without a label map, names are sorted and numbered from 1; 0 is the background.
class Labels {
 public:
  explicit Labels(const std::string& file) : file_(file) {
    if (file.empty()) return;
    map_ = read_label_map(file);
    text_ = read_file(file);
    for (const caffe::LabelMapItem& item : map_.item()) numbers_[item.name()] = item.label();
  }

  void number(const std::vector<Annotated>& images) {
    if (!file_.empty()) return;
    std::set<std::string> names;
    for (const Annotated& image : images)
      for (const NamedObject& object : image.objects) names.insert(object.name);
    add("none_of_the_above", "background");
    for (const std::string& name : names) add(name, name);
    text_ = map_.DebugString();
  }

  /// Throws SampleError for an unknown name.
  int32_t of(const std::string& name) const {
    const auto found = numbers_.find(name);
    if (found != numbers_.end()) return found->second;
    throw SampleError("'" + printable(name) + "' is not in the label map " + file_, "add an item for each name");
  }

  const std::string& text() const { return text_; }
  bool made_here() const { return file_.empty(); }

 private:
  void add(const std::string& name, const std::string& shown) {
    caffe::LabelMapItem& item = *map_.add_item();
    item.set_name(name);
    item.set_label(int32_t(numbers_.size()));
    item.set_display_name(shown);
    numbers_[name] = item.label();
  }

  std::string file_, text_;
  caffe::LabelMap map_;
  std::map<std::string, int32_t> numbers_;
};

Annotation read_annotation(const std::string& path, const std::string& image, const std::string& type) {
  const std::string text = read_file(path, int64_t(1) << 28);
  const auto image_extent = [&] {
    ImageDecoder decoder;
    const std::string content = read_file(image, kMaxImageFileBytes);
    const Sample size = decoder.open(content, ColorMode::kAsStored);
    return ImageExtent{size.height, size.width};
  };
  const bool lines = type.empty() ? path.ends_with(".txt") : type == "txt";
  return lines ? parse_box_lines(text, image_extent()) : parse_voc(text, image_extent);
}

struct Found {
  std::vector<Annotated> images;
  std::vector<Rejected> bad;
};

Found from_list(const AnnosetOptions& options) {
  Found found;
  for_each_line(read_file_or_pipe(options.list, int64_t(1) << 32), [&](std::string_view line, int64_t number) {
    const LastWord words = split_two_paths(line, options.root);
    if (words.before.empty()) {
      found.bad.push_back(
          {options.list, number, "no annotation: a line needs the paths of an image and of its annotation"});
      return;
    }
    const std::string name(words.before), annotation(words.word);
    try {
      const std::string image = options.root + name;
      found.images.push_back(
          {{image, name, -1, number}, read_annotation(options.root + annotation, image, options.annotation_type)});
    } catch (const SampleError& error) {
      found.bad.push_back({options.list, number, annotation + ": " + error.what()});
    } catch (const Error& error) {
      found.bad.push_back({options.list, number, annotation + ": " + error.mistakes()[0].message});
    }
  });
  return found;
}

Found from_coco(const AnnosetOptions& options) {
  Found found;
  try {
    for (Annotation& image : parse_coco(read_file(options.list, int64_t(1) << 34)).images)
      found.images.push_back({{options.root + image.file, image.file, -1}, std::move(image)});
  } catch (const SampleError& error) {
    throw file_error(ExitCode::kData, options.list, error.what(), error.hint());
  }
  return found;
}

}  // namespace

ConvertReport convert_annoset(const AnnosetOptions& options) {
  check_image_options(options);
  // The training and test sets of a detector may be in one folder; the first conversion creates it.
  const std::string folder = folder_of(without_trailing_slashes(options.output));
  std::error_code ignored;
  const MadeFolders folders(folder.empty() ? "." : folder, ignored);
  Found found = options.list.ends_with(".json") ? from_coco(options) : from_list(options);
  Labels labels(options.label_map);
  labels.number(found.images);
  FoundImages images;
  images.list = options.list;
  images.bad_lines = std::move(found.bad);
  for (Annotated& image : found.images) {
    try {
      std::map<std::string, int32_t> instances;
      for (const NamedObject& object : image.objects)
        image.entry.objects.push_back({labels.of(object.name), instances[object.name]++, object.box, object.difficult});
      images.entries.push_back(std::move(image.entry));
    } catch (const SampleError& error) {
      images.bad_lines.push_back({options.list, image.entry.line, image.entry.name + ": " + error.what()});
    }
  }
  images.label_map = labels.text();
  ConvertReport report = convert_images(std::move(images), options);
  if (report.kept && labels.made_here())
    report.label_map =
        options.test_share > 0 ? join_path(options.output, kLabelMapPart) : names_beside(options.output, kLabelMapPart);
  return report;
}

}  // namespace cortado::data
