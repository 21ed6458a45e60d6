// `cortado convert`: converts datasets of other formats to LMDB, weights and ONNX models. `convert imageset` takes the
// flags and operands of convert_imageset. Unlike there, a bad image or label is an error without --skip-bad: exit 4,
// and nothing is written.
#include "data/convert/convert.h"

#include <filesystem>

#include "core/error.h"
#include "core/files/file.h"
#include "core/text/text.h"
#include "tools/convert/convert.h"
#include "tools/options/run_options.h"
#include "tools/output/output_name.h"
#include "tools/output/progress.h"
#include "tools/output/terminal.h"
#include "tools/program/command.h"

namespace cortado::tools {

namespace {

using data::ConvertReport;

constexpr double kMaxBad = 0.1;  ///< share of a folder's images that may be left out without --skip-bad

using Convert = ConvertReport (*)(const Arguments& arguments, const std::vector<std::string>& inputs,
                                  const data::ConvertOptions& common);

void set_image_options(const Arguments& arguments, const data::ConvertOptions& common, data::ImageOptions& options) {
  static_cast<data::ConvertOptions&>(options) = common;
  options.gray = arguments.on("gray");
  options.shuffle = arguments.on("shuffle");
  options.seed = uint64_t(arguments.integer("seed"));
  options.resize_height = int(arguments.integer("resize-height"));
  options.resize_width = int(arguments.integer("resize-width"));
  if ((options.resize_height > 0) != (options.resize_width > 0))
    throw usage_error("--resize-height and --resize-width require each other");
  options.short_side = int(arguments.integer("short-side"));
  if (options.short_side > 0 && options.resize_height > 0)
    throw usage_error("--short-side excludes --resize-height and --resize-width",
                      "use --short-side to keep the aspect ratio");
  options.check_size = arguments.on("check-size");
  options.encoded = arguments.on("encoded") || arguments.has("encode-type");
  options.encode_type = arguments.text("encode-type");
  if (arguments.knows("split") && arguments.has("split")) options.test_share = split_of(arguments);
}

ConvertReport run_idx(const Arguments&, const std::vector<std::string>& inputs, const data::ConvertOptions& common) {
  data::IdxOptions options{common, inputs[0], inputs[1]};
  return data::convert_idx(options);
}

ConvertReport run_imageset(const Arguments& arguments, const std::vector<std::string>& inputs,
                           const data::ConvertOptions& common) {
  data::ImagesetOptions options;
  set_image_options(arguments, common, options);
  options.root = inputs[0];
  options.list = inputs[1];
  return data::convert_imageset(options);
}

ConvertReport run_annoset(const Arguments& arguments, const std::vector<std::string>& inputs,
                          const data::ConvertOptions& common) {
  data::AnnosetOptions options;
  set_image_options(arguments, common, options);
  for (const char* flag : {"min-dim", "max-dim"})
    if (arguments.integer(flag) != 0)
      throw usage_error(std::string("--") + flag + " is not supported", "use --resize-height and --resize-width");
  if (arguments.text("anno-type") != "detection")
    throw usage_error("--anno-type=" + arguments.text("anno-type") + ": only detection is supported",
                      "`cortado convert imageset` writes records with labels");
  options.root = inputs[0];
  options.list = inputs[1];
  options.label_map = arguments.text("label-map-file");
  options.annotation_type = arguments.text("label-type");
  if (options.annotation_type == "json")
    throw usage_error("--label-type=json: annotations are XML or text",
                      "for COCO, give its instances file instead of the list");
  return data::convert_annoset(options);
}

ConvertReport run_folder(const Arguments& arguments, const std::vector<std::string>& inputs,
                         const data::ConvertOptions& common) {
  data::FolderOptions options;
  set_image_options(arguments, common, options);
  options.folder = inputs[0];
  return data::convert_folder(options);
}

ConvertReport run_csv(const Arguments& arguments, const std::vector<std::string>& inputs,
                      const data::ConvertOptions& common) {
  data::CsvOptions options;
  set_image_options(arguments, common, options);
  options.table = inputs[0];
  return data::convert_csv(options);
}

ConvertReport run_tar(const Arguments& arguments, const std::vector<std::string>& inputs,
                      const data::ConvertOptions& common) {
  data::TarOptions options;
  set_image_options(arguments, common, options);
  options.shards = inputs;
  return data::convert_tar(options);
}

ConvertReport run_cifar(const Arguments& arguments, const std::vector<std::string>& inputs,
                        const data::ConvertOptions& common) {
  data::CifarOptions options{common, inputs};
  options.label_bytes = int(arguments.integer("label-bytes"));
  return data::convert_cifar(options);
}

ConvertReport run_leveldb(const Arguments&, const std::vector<std::string>& inputs,
                          const data::ConvertOptions& common) {
  return data::convert_leveldb({common, inputs[0]});
}

/// Paths of a list are appended to the root folder, so that a root without a final slash leads to wrong paths.
std::string advice_on_root(Convert convert, const std::string& root) {
  if ((convert != run_imageset && convert != run_annoset) || root.ends_with('/') ||
      !std::filesystem::is_directory(root))
    return "";
  return "; paths begin with '" + root + "': end it with a slash if it is their folder";
}

/// Runs one conversion with `count` inputs, or any number if 0. The next operand is the output.
int convert_dataset(const Arguments& arguments, Convert convert, size_t count) {
  std::vector<std::string> inputs = arguments.operands();
  std::string output = arguments.text("output");
  if (output.empty() && count > 0 && inputs.size() == count + 1) {
    output = inputs.back();
    inputs.pop_back();
  }
  if (count > 0 && inputs.size() > count) throw usage_error("unexpected argument '" + inputs[count] + "'");
  if (output.empty()) throw usage_error("--output=LMDB is required", "-o names the folder to write");
  check_backend(arguments, "written");
  check_output_name(output, "a dataset", {".lmdb"});

  CountedProgress progress("convert", arguments.on("progress"));
  data::ConvertOptions common{.output = output, .force = arguments.on("force"), .progress = progress.callback()};
  if (arguments.knows("skip-bad")) {
    common.skip_bad = arguments.has("skip-bad");
    if (common.skip_bad) common.max_bad = skip_bad_of(arguments);
  }
  if (convert == run_folder && !common.skip_bad && !arguments.on("strict")) {
    common.skip_bad = true;  // folders of photos usually contain a broken one
    common.most_bad = kMaxBad;
  }
  const ConvertReport report = convert(arguments, inputs, common);
  progress.finish();
  show_rejects(report, report.kept);
  if (arguments.on("json"))
    show_report_json(report, output);
  else if (report.kept)
    show_report(report, output);
  if (report.kept) return 0;
  throw Error(ExitCode::kData,
              count_text(report.rejected) + (report.rejected == 1 ? " bad sample: " : " bad samples: ") + output +
                  " was not written",
              "correct them, or leave them out with --skip-bad" + advice_on_root(convert, inputs[0]));
}

Flag resize_flag(const std::string& name, const std::string& help) {
  return {
      .name = name, .kind = FlagKind::kInteger, .value = "N", .help = help, .fallback = "0", .least = 0, .most = 65500};
}

std::vector<Flag> image_flags() {
  Flag seed = with_note(seed_flag(), "for --shuffle and --split");
  seed.fallback = "1";
  return {resize_flag("resize-height", "resize images to this height; 0 keeps it"),
          resize_flag("resize-width", "resize images to this width; 0 keeps it"),
          resize_flag("short-side", "resize the shorter side to this length and keep the aspect ratio; 0 keeps sizes"),
          {.name = "gray", .help = "convert images to one channel"},
          {.name = "shuffle", .help = "shuffle the samples"},
          seed,
          {.name = "encoded", .help = "store image files, not pixels"},
          {.name = "encode-type",
           .kind = FlagKind::kText,
           .value = "TYPE",
           .help = "store image files of this type, as jpg or png"},
          {.name = "check-size", .help = "reject images of another size than the first"}};
}

std::vector<Flag> annotation_flags() {
  return {{.name = "label-map-file",
           .kind = FlagKind::kText,
           .value = "FILE",
           .help = "label map; by default classes are numbered as they occur, and OUT.labelmap.prototxt is written"},
          {.name = "anno-type",
           .kind = FlagKind::kText,
           .value = "TYPE",
           .help = "detection",
           .fallback = "detection",
           .rank = FlagRank::kHidden},
          {.name = "label-type",
           .kind = FlagKind::kText,
           .value = "TYPE",
           .help = "format of annotations; by default their names say it",
           .choices = {"xml", "txt", "json"}},
          {.name = "check-label", .help = "names without a number are always errors", .rank = FlagRank::kHidden},
          {.name = "min-dim", .kind = FlagKind::kInteger, .value = "N", .fallback = "0", .rank = FlagRank::kHidden},
          {.name = "max-dim", .kind = FlagKind::kInteger, .value = "N", .fallback = "0", .rank = FlagRank::kHidden}};
}

std::vector<Flag> dataset_flags(std::vector<Flag> own) {
  return joined(
      {{output_flag("LMDB", "the dataset's folder"), force_flag(), json_flag(), progress_flag(), backend_flag()},
       std::move(own)});
}

std::vector<Flag> image_set_flags(std::vector<Flag> own) {
  return dataset_flags(joined({image_flags(), {skip_bad_flag()}, std::move(own)}));
}

std::vector<Command> dataset_commands() {
  return {
      {.name = "convert folder",
       .summary = "Convert a folder of images, one subfolder for each class",
       .flags = image_set_flags({split_flag(), {.name = "strict", .help = "one bad image is enough to write nothing"}}),
       .operands = {"FOLDER", "has a subfolder of images for each class", 1, 2},
       .examples = {{"cortado convert folder photos -o photos_lmdb --split=0.2 --resize-height=256 --resize-width=256",
                     "a fifth of each class for testing: photos_lmdb/train_lmdb, test_lmdb and labels.txt"},
                    {"cortado convert folder photos -o train_lmdb", "one dataset, and train_lmdb.labels.txt"}},
       .run = [](const Arguments& arguments) { return convert_dataset(arguments, run_folder, 1); },
       .about = "Leaves bad images out, up to a tenth of all unless --strict, and reports images that occur twice or "
                "are nearly black. Hidden files and folders, Thumbs.db and the like are skipped and counted."},
      {.name = "convert imageset",
       .summary = "Convert images that a list names, as Caffe's convert_imageset",
       .flags = image_set_flags({split_flag()}),
       .operands = {"ROOTFOLDER/ LISTFILE", "lines of 'path label'; paths are appended to the root", 2, 3},
       .examples = {{"cortado convert imageset images/ list.txt -o train_lmdb --resize-height=256 --resize-width=256",
                     "pixels, all of one size"},
                    {"cortado convert imageset images/ list.txt -o train_lmdb --short-side=256 --encoded",
                     "small JPEGs, which training decodes and crops: for large sets"}},
       .run = [](const Arguments& arguments) { return convert_dataset(arguments, run_imageset, 2); }},
      {.name = "convert annoset",
       .summary = "Convert images with boxes, as SSD's convert_annoset, or from COCO's JSON",
       .flags = image_set_flags(joined({annotation_flags(), {split_flag()}})),
       .operands = {"ROOTFOLDER/ LISTFILE", "lines of 'image annotation', or COCO's instances.json", 2, 3},
       .examples = {{"cortado convert annoset VOCdevkit/ trainval.txt -o trainval_lmdb --encoded",
                     "lines of 'image annotation.xml', as create_annoset reads them"},
                    {"cortado convert annoset images/ instances.json -o train_lmdb --encoded", "COCO's boxes"},
                    {"cortado convert annoset images/ list.txt -o boxes --split=0.2",
                     "boxes/train_lmdb, boxes/test_lmdb and boxes/labelmap.prototxt"}},
       .run = [](const Arguments& arguments) { return convert_dataset(arguments, run_annoset, 2); }},
      {.name = "convert csv",
       .summary = "Convert a table of paths and labels, or of labels and pixels",
       .flags = image_set_flags({split_flag()}),
       .operands = {"TABLE", "rows of path and label, or of label and pixels", 1, 2},
       .examples = {{"cortado convert csv train.csv -o train_lmdb", "paths are relative to the table"}},
       .run = [](const Arguments& arguments) { return convert_dataset(arguments, run_csv, 1); }},
      {.name = "convert tar",
       .summary = "Convert WebDataset shards: .tar, .tar.gz, .tar.xz, .tar.zst or .zip",
       .flags = image_set_flags({split_flag()}),
       .operands = {"SHARD...", "archives with KEY.jpg and KEY.cls", 1, 100000},
       .examples = {{"cortado convert tar shard-000.tar shard-001.tar -o train_lmdb --encoded", "two shards"}},
       .run = [](const Arguments& arguments) { return convert_dataset(arguments, run_tar, 0); }},
      {.name = "convert idx",
       .summary = "Convert MNIST's format, plain or .gz",
       .flags = dataset_flags({}),
       .operands = {"IMAGES LABELS", "an idx3 or idx4 file and an idx1 file", 2, 3},
       .examples = {{"cortado convert idx train-images.gz train-labels.gz -o train_lmdb", "MNIST's training set"}},
       .run = [](const Arguments& arguments) { return convert_dataset(arguments, run_idx, 2); }},
      {.name = "convert cifar",
       .summary = "Convert CIFAR's binary batches",
       .flags = dataset_flags({{.name = "label-bytes",
                                .kind = FlagKind::kInteger,
                                .value = "N",
                                .help = "bytes of labels in a record: 2 for CIFAR-100",
                                .fallback = "1",
                                .least = 1,
                                .most = 2}}),
       .operands = {"BATCHFILE...", "data_batch_1.bin and so on", 1, 100000},
       .examples = {{"cortado convert cifar data_batch_1.bin data_batch_2.bin -o train_lmdb", "two batches"}},
       .run = [](const Arguments& arguments) { return convert_dataset(arguments, run_cifar, 0); }},
      {.name = "convert leveldb",
       .summary = "Convert a LevelDB, Caffe's other backend",
       .flags = dataset_flags({skip_bad_flag()}),
       .operands = {"FOLDER", "the LevelDB", 1, 2},
       .examples = {{"cortado convert leveldb ilsvrc12_train_leveldb train_lmdb", "the same records as an LMDB"}},
       .run = [](const Arguments& arguments) { return convert_dataset(arguments, run_leveldb, 1); }}};
}

}  // namespace

Command convert_command() {
  Command command{
      .name = "convert",
      .summary = "Convert datasets into LMDB, weights between formats, nets to ONNX and back",
      .examples = {{"cortado convert folder photos -o photos_lmdb --split=0.2", "your own images"},
                   {"cortado convert weights net.caffemodel net.safetensors", "weights for other programs"},
                   {"cortado convert onnx deploy.prototxt net.caffemodel -o net.onnx", "a net as an ONNX model"}},
      .about =
          "A dataset is written next to its final name and renamed when it is complete. A bad image or label is "
          "reported and makes the exit code 4, and nothing is written, unless --skip-bad."};
  command.subcommands = dataset_commands();
  command.subcommands.push_back(convert_weights_command());
  command.subcommands.push_back(convert_onnx_command());
  return command;
}

}  // namespace cortado::tools
