// Converts window_data_param to a pipeline's options. Windows are warped, flipped and normalized when they are read
// (the mean is aligned with the result, not with the image), so the pipeline itself does not transform them.
#include "core/error.h"
#include "data/pipeline/pipeline_options.h"
#include "data/sources/window_source.h"

namespace cortado::data {

namespace {

const std::string kWindowOptionsOwn = "window_data_param";

void refuse_other_transforms(const caffe::TransformationParameter& param) {
  static const std::vector<std::string> known = {"scale",       "mirror",     "crop_size",
                                                 "mean_file",   "mean_value", "force_color",
                                                 "random_seed", "display",    "use_gpu_transform"};
  refuse_transforms_but(known, param, "windows are cropped and warped by their own method",
                        "use crop_size, mirror, scale, mean_file or mean_value");
}

WarpOptions warp_options(const caffe::WindowDataParameter& param, int crop) {
  if (crop == 0)
    throw FieldError("transform_param.crop_size", "the size to which windows are warped is not set",
                     "set transform_param { crop_size: 227 }, the input size of the net");
  if (param.context_pad() >= uint32_t(crop + 1) / 2)
    throw FieldError(kWindowOptionsOwn + ".context_pad", std::to_string(param.context_pad()) +
                                                             " pixels on each side are too many for a crop_size of " +
                                                             std::to_string(crop));
  if (param.crop_mode() != "warp" && param.crop_mode() != "square")
    throw FieldError(kWindowOptionsOwn + ".crop_mode",
                     "'" + param.crop_mode() + "' is neither \"warp\" nor \"square\"");
  return {crop, int(param.context_pad()), param.crop_mode() == "square"};
}

void check_mean(const WarpValues& values, int crop) {
  if (values.mean && (values.mean->height < crop || values.mean->width < crop))
    throw FieldError("transform_param.mean_file", "the mean is " + std::to_string(values.mean->height) + "x" +
                                                      std::to_string(values.mean->width) +
                                                      ", smaller than the crop of " + std::to_string(crop));
}

int foreground_of(const caffe::WindowDataParameter& param, int batch) {
  if (!(param.fg_fraction() >= 0 && param.fg_fraction() <= 1))
    throw FieldError(kWindowOptionsOwn + ".fg_fraction", "it must be from 0 to 1");
  return int(float(batch) * param.fg_fraction());
}

}  // namespace

PipelineOptions make_window_options(const caffe::LayerParameter& layer, const DataOptions& options, bool read_files) {
  const caffe::WindowDataParameter& param = layer.window_data_param();
  if (param.source().empty()) throw FieldError(kWindowOptionsOwn + ".source", "the window file is not set");
  refuse_other_transforms(layer.transform_param());
  const TransformPlan plan = make_transform_plan(layer.transform_param(), options.phase, read_files);
  PipelineOptions made = common_options(layer, kWindowOptionsOwn, param.batch_size(), 0, options);
  if (made.cache != CacheOn::kNowhere)
    throw FieldError("data_param.cache_on", "windows are drawn anew each time",
                     "use window_data_param.cache_images to cache files");
  WindowSourceOptions windows;
  windows.list = param.source();
  windows.root = param.root_folder();
  windows.fg_threshold = param.fg_threshold();
  windows.bg_threshold = param.bg_threshold();
  windows.batch_size = made.batch_size;
  windows.foreground = foreground_of(param, windows.batch_size);
  windows.mirror = plan.mirror;
  windows.keep_files = param.cache_images();
  windows.seed = plan.random_seed >= 0 ? uint64_t(plan.random_seed) : made.seed;
  windows.warp = warp_options(param, plan.crop_h);
  windows.values = {plan.scale, plan.mean_values, plan.mean};
  check_mean(windows.values, plan.crop_h);
  made.source = param.source();
  made.open = [windows] { return window_source(windows); };
  return made;
}

}  // namespace cortado::data
