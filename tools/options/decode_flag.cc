#include "tools/options/decode_flag.h"

#include "core/error.h"
#include "data/pipeline/jpeg_decoding.h"

namespace cortado::tools {

Flag decode_flag() {
  return {.name = "decode",
          .kind = FlagKind::kText,
          .value = "WHERE",
          .help =
              "of JPEGs, where the net runs on a GPU: cpu, gpu (by nvJPEG, or fail), or auto (gpu where it can); a "
              "GPU's pixels differ in their last bits",
          .fallback = "cpu",
          .choices = {"cpu", "auto", "gpu"}};
}

void choose_decoder(const Arguments& arguments, Context& context) {
  const std::string where = arguments.text("decode");
  if (where == "gpu" && context.device.is_cpu())
    throw usage_error("--decode=gpu: this runs on the CPU", "--gpu=0 runs on a GPU; auto decodes where it can");
  context.handle<data::JpegDecoding>().wanted = where == "gpu"    ? data::DecodeOn::kGpu
                                                : where == "auto" ? data::DecodeOn::kAuto
                                                                  : data::DecodeOn::kCpu;
}

}  // namespace cortado::tools
