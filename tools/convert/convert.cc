// `cortado convert`: datasets of other formats into LMDB. Takes convert_imageset's flags and operands as they are;
// unlike it, a bad image or label is an error (exit 4, nothing is written) unless --skip-bad.
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

constexpr double kMaxBad = 0.1;  ///< share of a folder's images that may be left out without a word from the user

/// Where a format's inputs are among the operands, and its converter.
struct ConvertFormat {
  const char* name;
  const char* inputs;  ///< for messages
  size_t count;        ///< operands after the format's name; 0: one or more
  ConvertReport (*run)(const Arguments& arguments, const std::vector<std::string>& inputs,
                       const data::ConvertOptions& common);
};

void set_image_options(const Arguments& arguments, const data::ConvertOptions& common, data::ImageOptions& options) {
  static_cast<data::ConvertOptions&>(options) = common;
  options.gray = arguments.on("gray");
  options.shuffle = arguments.on("shuffle");
  options.seed = uint64_t(arguments.integer("seed"));
  options.resize_height = int(arguments.integer("resize-height"));
  options.resize_width = int(arguments.integer("resize-width"));
  if ((options.resize_height > 0) != (options.resize_width > 0))
    throw usage_error("--resize-height and --resize-width go together");
  options.short_side = int(arguments.integer("short-side"));
  if (options.short_side > 0 && options.resize_height > 0)
    throw usage_error("--short-side keeps the aspect, --resize-height and --resize-width do not",
                      "give one of the two");
  options.check_size = arguments.on("check-size");
  options.encoded = arguments.on("encoded") || arguments.has("encode-type");
  options.encode_type = arguments.text("encode-type");
  if (!arguments.has("split")) return;
  options.test_share = arguments.number("split");
  if (!(options.test_share > 0 && options.test_share < 1))
    throw usage_error(
        "--split=" + number_text("%g", options.test_share) + ": the share of the test set lies between 0 and 1",
        "--split=0.2 is a fifth of each class");
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
      throw usage_error(std::string("--") + flag + " is not known here", "--resize-height and --resize-width are");
  if (arguments.text("anno-type") != "detection")
    throw usage_error("--anno-type=" + arguments.text("anno-type") + ": only detection is written",
                      "imageset makes records with labels");
  options.root = inputs[0];
  options.list = inputs[1];
  options.label_map = arguments.text("label-map-file");
  options.annotation_type = arguments.text("label-type");
  if (options.annotation_type == "json")
    throw usage_error("--label-type=json: an annotation is an XML, or a .txt of lines",
                      "COCO's instances of all images, in one .json, are given in place of the list");
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

const ConvertFormat kFormats[] = {{"idx", "IMAGES LABELS", 2, run_idx},
                                  {"imageset", "ROOTFOLDER/ LISTFILE", 2, run_imageset},
                                  {"annoset", "ROOTFOLDER/ LISTFILE", 2, run_annoset},
                                  {"folder", "FOLDER", 1, run_folder},
                                  {"csv", "TABLE", 1, run_csv},
                                  {"tar", "SHARD...", 0, run_tar},
                                  {"cifar", "BATCHFILE...", 0, run_cifar},
                                  {"leveldb", "FOLDER", 1, run_leveldb}};

const ConvertFormat& format_named(const std::string& name) {
  std::vector<std::string> names = {"weights", "onnx"};
  for (const ConvertFormat& format : kFormats) {
    if (name == format.name) return format;
    names.push_back(format.name);
  }
  throw usage_error(
      "'" + name + "' is no format: idx, imageset, annoset, folder, csv, tar, cifar, leveldb, weights or onnx",
      did_you_mean(name, names));
}

/// Paths in a list are put behind the root folder as they are, so one without its slash finds nothing.
std::string advice_on_root(const ConvertFormat& format, const std::string& root) {
  if ((format.run != run_imageset && format.run != run_annoset) || root.ends_with('/') ||
      !std::filesystem::is_directory(root))
    return "";
  return "; paths begin with " + root + " as it is: end it with a slash if it is their folder";
}

int run_convert(const Arguments& arguments) {
  std::vector<std::string> inputs = arguments.operands();
  if (inputs[0] == "onnx") return convert_onnx(arguments, {inputs.begin() + 1, inputs.end()});
  if (inputs[0] == "weights") return convert_weights(arguments, {inputs.begin() + 1, inputs.end()});
  const ConvertFormat& format = format_named(inputs[0]);
  inputs.erase(inputs.begin());
  std::string output = arguments.text("output");
  if (output.empty() && format.count > 0 && inputs.size() == format.count + 1) {
    output = inputs.back();
    inputs.pop_back();
  }
  if (inputs.empty() || (format.count > 0 && inputs.size() != format.count))
    throw usage_error(std::string("convert ") + format.name + " takes " + format.inputs + " -o LMDB");
  if (output.empty()) throw usage_error("--output=LMDB is missing", "the folder to make");
  if (arguments.text("backend") != "lmdb")
    throw usage_error("--backend=" + arguments.text("backend") + ": only lmdb is written");
  check_output_name(output, "a dataset", {".lmdb"});

  CountedProgress progress("convert");
  data::ConvertOptions common{.output = output,
                              .force = arguments.on("force"),
                              .skip_bad = arguments.on("skip-bad"),
                              .progress = progress.callback()};
  if (format.run == run_folder && !common.skip_bad && !arguments.on("strict")) {
    common.skip_bad = true;  // a folder of photographs has a broken one
    common.most_bad = kMaxBad;
  }
  const ConvertReport report = format.run(arguments, inputs, common);
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
              "correct them, or leave them out with --skip-bad" + advice_on_root(format, inputs[0]));
}

Flag resize_flag(const std::string& name, const std::string& help) {
  return {
      .name = name, .kind = FlagKind::kInteger, .value = "N", .help = help, .fallback = "0", .least = 0, .most = 65500};
}

std::vector<Flag> image_flags() {
  return {{.name = "gray", .help = "one channel"},
          {.name = "shuffle", .help = "random order"},
          {.name = "seed",
           .kind = FlagKind::kInteger,
           .value = "N",
           .help = "of the random order, and of the choice that --split makes",
           .fallback = "1",
           .least = 0},
          resize_flag("resize-height", "0 keeps sizes"),
          resize_flag("resize-width", "0 keeps sizes"),
          resize_flag("short-side", "the shorter side becomes this long, the aspect stays; 0 keeps sizes"),
          {.name = "check-size", .help = "an image of another size than the first is bad"},
          {.name = "encoded", .help = "store image files, not pixels"},
          {.name = "encode-type", .kind = FlagKind::kText, .value = "TYPE", .help = "jpg or png"}};
}

std::vector<Flag> annotation_flags() {
  return {{.name = "label-map-file",
           .kind = FlagKind::kText,
           .value = "FILE",
           .help = "the numbers of classes; without it names are numbered, and OUT.labelmap.prototxt says how"},
          {.name = "anno-type",
           .kind = FlagKind::kText,
           .value = "TYPE",
           .help = "detection",
           .fallback = "detection",
           .hidden = true},
          {.name = "label-type",
           .kind = FlagKind::kText,
           .value = "TYPE",
           .help = "of the annotations, whatever they are called: xml or txt",
           .choices = {"xml", "txt", "json"}},
          {.name = "check-label", .help = "names without a number are bad always", .hidden = true},
          {.name = "min-dim", .kind = FlagKind::kInteger, .value = "N", .help = "", .fallback = "0", .hidden = true},
          {.name = "max-dim", .kind = FlagKind::kInteger, .value = "N", .help = "", .fallback = "0", .hidden = true}};
}

const std::vector<std::string> kDatasetKinds = {"idx", "imageset", "annoset", "folder",
                                                "csv", "tar",      "cifar",   "leveldb"};

std::vector<Flag> dataset_flags() {
  const Flag output{.name = "output",
                    .kind = FlagKind::kText,
                    .value = "OUT",
                    .help = "the folder to make, or the file",
                    .letter = 'o'};
  const Flag split{.name = "split",
                   .kind = FlagKind::kNumber,
                   .value = "SHARE",
                   .help =
                       "this share of each class goes to a test set: OUT/train_lmdb, OUT/test_lmdb and "
                       "OUT/labels.txt"};
  const Flag label_bytes{.name = "label-bytes",
                         .kind = FlagKind::kInteger,
                         .value = "N",
                         .help = "2 for CIFAR-100",
                         .fallback = "1",
                         .least = 1,
                         .most = 2};
  const Flag backend{
      .name = "backend", .kind = FlagKind::kText, .value = "DB", .help = "lmdb", .fallback = "lmdb", .hidden = true};
  std::vector<std::string> described = kDatasetKinds;
  described.push_back("weights");
  return joined(
      {{output, force_flag()},
       for_kinds(
           {"imageset", "annoset", "folder", "csv", "tar", "leveldb"},
           {{.name = "skip-bad", .help = "leave bad samples out, however many; folder does so up to a tenth of all"}}),
       for_kinds({"folder"}, {{.name = "strict", .help = "one bad image is enough for nothing to be written"}}),
       for_kinds({"imageset", "annoset", "folder", "csv", "tar"}, image_flags()),
       for_kinds({"imageset", "folder", "csv", "tar"}, {split}),
       for_kinds({"annoset"}, annotation_flags()),
       for_kinds({"cifar"}, {label_bytes}),
       for_kinds(kDatasetKinds, {backend}),
       for_kinds(described, {json_flag()})});
}

std::vector<std::string> kinds_of_convert() {
  std::vector<std::string> kinds = kDatasetKinds;
  kinds.insert(kinds.end(), {"weights", "onnx"});
  return kinds;
}

}  // namespace

Command convert_command() {
  return {
      .name = "convert",
      .summary = "makes an LMDB of a dataset in another format, other weights of weights, ONNX of nets and back",
      .flags = joined({dataset_flags(), for_kinds({"weights"}, weights_flags()), for_kinds({"onnx"}, onnx_flags())}),
      .operands = {"FORMAT INPUT...",
                   "idx IMAGES LABELS, imageset ROOT/ LIST, annoset ROOT/ LIST, folder FOLDER, csv TABLE, tar "
                   "SHARD..., cifar FILE..., leveldb "
                   "FOLDER, weights IN OUT, onnx NET WEIGHTS -o MODEL.onnx, or onnx MODEL.onnx -o NET --weights=OUT",
                   1, 100000, kinds_of_convert()},
      .examples =
          {{"cortado convert idx train-images.gz train-labels.gz -o train_lmdb", "MNIST's format, plain or .gz"},
           {"cortado convert imageset images/ list.txt -o train_lmdb --resize-height=256 --resize-width=256",
            "images listed as 'path label', as convert_imageset takes them"},
           {"cortado convert imageset images/ list.txt -o train_lmdb --short-side=256 --encoded",
            "small JPEGs, which training decodes and crops: for large sets"},
           {"cortado convert annoset VOCdevkit/ trainval.txt -o trainval_lmdb --encoded",
            "images and boxes listed as 'image annotation.xml', as create_annoset takes them"},
           {"cortado convert annoset images/ instances.json -o train_lmdb --encoded", "COCO's boxes"},
           {"cortado convert folder photos -o train_lmdb", "one folder per class; names go to train_lmdb.labels.txt"},
           {"cortado convert folder photos -o photos_lmdb --split=0.2 --resize-height=256 --resize-width=256",
            "a fifth of each class for testing: photos_lmdb/train_lmdb, test_lmdb and labels.txt"},
           {"cortado convert csv train.csv -o train_lmdb", "rows of path and label, or of label and pixels"},
           {"cortado convert tar shard-000.tar shard-001.tar -o train_lmdb --encoded",
            "WebDataset's shards, .tar, .tar.gz, .tar.xz, .tar.zst or .zip: KEY.jpg and KEY.cls"},
           {"cortado convert cifar data_batch_1.bin data_batch_2.bin -o train_lmdb", "CIFAR's binary batches"},
           {"cortado convert leveldb ilsvrc12_train_leveldb train_lmdb", "a database of Caffe's other backend"},
           {"cortado convert weights nv.caffemodel bvlc.caffemodel --net=train_val.prototxt",
            "any Caffe's weights for BVLC's, with BatchNorm and Scale as the net has them"},
           {"cortado convert weights net.caffemodel net.safetensors", "tensors called conv1.0, conv1.1, ..."},
           {"cortado convert weights net.caffemodel net.npz", "NumPy arrays called conv1/0, conv1/1, ..."},
           {"cortado convert weights net.caffemodel --list", "its dialect, layers, types and shapes"},
           {"cortado convert onnx deploy.prototxt net.caffemodel -o net.onnx", "a model for other programs"},
           {"cortado convert onnx train_val.prototxt net.caffemodel -o net.onnx --fold --like=train_val.prototxt",
            "the deployed net, smaller, which takes pixels and prepares them itself"},
           {"cortado convert onnx ssd.prototxt ssd.caffemodel -o ssd.onnx --outputs=mbox_loc,mbox_conf_flatten",
            "up to what ONNX has no operators for"},
           {"cortado convert onnx model.onnx -o net.prototxt --weights=net.caffemodel",
            "a model of another program as a net"}},
      .run = run_convert,
      .about =
          "The database is built aside and put in place when it is whole. A bad image or label is named and makes the "
          "exit code 4, and nothing is written, unless --skip-bad; `folder` leaves bad images out, unless they are "
          "more "
          "than a tenth or --strict, and tells which images are doubles of others, or nearly black. Hidden files and "
          "folders, Thumbs.db and the like "
          "are passed over and counted. Weights may be a .caffemodel of BVLC, NVIDIA or Intel, HDF5, safetensors or "
          ".npz; which one is told by their content; what is written, by the output's name. A BatchNorm that scales "
          "becomes a BatchNorm and a Scale layer, or the other way round, as --net wants it; without --net, --to=bvlc "
          "adds a layer NAME_scale behind it. docs/onnx.md says which layers and operators ONNX models and nets have "
          "in "
          "common."};
}

}  // namespace cortado::tools
