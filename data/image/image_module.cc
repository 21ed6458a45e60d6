#include "data/image/image_module.h"

#include <cstdlib>

#include "core/companion_library.h"
#include "data/image/opencv/module.h"

namespace cortado::data {

namespace {

CompanionLibrary load_library() {
  // OpenCV reads its limit for image sizes when it is loaded; the default is 2^30 pixels.
  ::setenv("OPENCV_IO_MAX_IMAGE_PIXELS", std::to_string(kMaxPixels).c_str(), 0);
  return CompanionLibrary("libcortado_opencv.so");
}

struct Module {
  Module() {
    library.find("cortado_opencv_decode", decode);
    library.find("cortado_opencv_encode", encode);
  }

  CompanionLibrary library = load_library();
  decltype(&cortado_opencv_decode) decode = nullptr;
  decltype(&cortado_opencv_encode) encode = nullptr;
};

const Module& loaded_module() {
  static const Module module;
  if (!module.library.why_not().empty())
    throw SampleError("neither JPEG nor PNG nor PNM, and OpenCV, which reads other formats, cannot be loaded: " +
                          module.library.why_not(),
                      "install libopencv-dev and build again, or convert the images to JPEG");
  return module;
}

uint8_t* give_memory(void* user, int channels, int height, int width) {
  if (int64_t(height) * width > kMaxPixels || channels > 4) return nullptr;
  auto& image = *static_cast<Image*>(user);
  image.resize(channels, height, width);
  return image.pixels.data();
}

}  // namespace

void decode_with_module(std::string_view file, ColorMode mode, Image& out) {
  static_assert(int(ColorMode::kColor) == kCortadoColor && int(ColorMode::kGray) == kCortadoGray);
  char message[kCortadoMessageBytes] = {};
  const auto* bytes = reinterpret_cast<const uint8_t*>(file.data());
  if (loaded_module().decode(bytes, file.size(), int(mode), give_memory, &out, message) != 0)
    throw SampleError(std::string("the image cannot be decoded: ") + message);
}

std::string encode_with_module(const Image& image, const std::string& type) {
  char message[kCortadoMessageBytes] = {};
  std::string file;
  const auto take = [](void* user, const uint8_t* bytes, size_t size) {
    static_cast<std::string*>(user)->assign(reinterpret_cast<const char*>(bytes), size);
  };
  if (loaded_module().encode(image.pixels.data(), image.channels, image.height, image.width, ("." + type).c_str(), take,
                             &file, message) != 0)
    throw SampleError("the image cannot be encoded as " + type + ": " + message);
  return file;
}

}  // namespace cortado::data
