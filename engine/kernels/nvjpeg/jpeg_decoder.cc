// nvJPEG's batched decoding of whole images. Decoding regions is incompatible with interpolated chroma, which libjpeg
// uses, and the caller skips the rest of the image anyway. If a batch fails as a whole, it is decoded image by image,
// so that one damaged file does not affect the others.
#include "kernels/jpeg_decoder.h"

#include "core/device/device_memory.h"
#include "core/device/simulated_device.h"
#include "core/error.h"
#include "kernels/library.h"
#include "kernels/nvjpeg/api.h"

namespace cortado::kernels {

namespace nvjpeg {

namespace {

template <typename Function>
void find(const char* file, const char* name, Function& function) {
  function = reinterpret_cast<Function>(library_symbol(file, name));
}

}  // namespace

Functions open_functions(const char* file) {
  Functions f;
  find(file, "nvjpegGetProperty", f.GetProperty);
  find(file, "nvjpegCreateEx", f.CreateEx);
  find(file, "nvjpegDestroy", f.Destroy);
  find(file, "nvjpegJpegStateCreate", f.JpegStateCreate);
  find(file, "nvjpegJpegStateDestroy", f.JpegStateDestroy);
  find(file, "nvjpegJpegStreamCreate", f.JpegStreamCreate);
  find(file, "nvjpegJpegStreamDestroy", f.JpegStreamDestroy);
  find(file, "nvjpegJpegStreamParseHeader", f.JpegStreamParseHeader);
  find(file, "nvjpegDecodeBatchedSupported", f.DecodeBatchedSupported);
  find(file, "nvjpegDecodeBatchedInitialize", f.DecodeBatchedInitialize);
  find(file, "nvjpegDecodeBatched", f.DecodeBatched);
  return f;
}

}  // namespace nvjpeg

namespace {

using namespace nvjpeg;

const char* library_for(const Context& context) {
  return context.device.is_simulated() ? "libcortado_simulated_nvjpeg.so" : "libnvjpeg.so.13";
}

void check(Status status, const char* call) {
  if (status == kSuccess) return;
  throw Error(ExitCode::kDevice, std::string(call) + ": nvJPEG's status " + std::to_string(int(status)),
              "use --decode=cpu to decode on the CPU");
}

bool may_be_the_files_fault(Status status) {
  return status != kNotInitialized && status != kAllocatorFailure && status != kExecutionFailed &&
         status != kArchMismatch;
}

const unsigned char* bytes_of(std::string_view file) { return reinterpret_cast<const unsigned char*>(file.data()); }

}  // namespace

class JpegDecoder::Library {
 public:
  explicit Library(Context& context) : f_(open_functions(library_for(context))) {
    constexpr unsigned kFlags = kStrictBitstream | kInterpolatedChroma;
    const bool hardware = f_.CreateEx(kHardware, nullptr, nullptr, kFlags, &handle_) == kSuccess;
    if (!hardware) check(f_.CreateEx(kGpuHybrid, nullptr, nullptr, kFlags, &handle_), "nvjpegCreateEx");
    int major = 0, minor = 0;
    f_.GetProperty(kMajorVersion, &major);
    f_.GetProperty(kMinorVersion, &minor);
    name_ = "nvJPEG " + std::to_string(major) + "." + std::to_string(minor) +
            (hardware ? ", the GPU's decoders" : ", kernels");
    try {
      check(f_.JpegStreamCreate(handle_, &header_), "nvjpegJpegStreamCreate");
      for (Turn& turn : turns_) check(f_.JpegStateCreate(handle_, &turn.state), "nvjpegJpegStateCreate");
    } catch (...) {
      close();
      throw;
    }
  }
  ~Library() { close(); }
  Library(const Library&) = delete;
  Library& operator=(const Library&) = delete;

  const std::string& name() const { return name_; }

  std::vector<size_t> decode(Context& context, int turn, std::span<const JpegTask> tasks) {
    const DeviceAccess access(context);
    std::vector<size_t> accepted, refused;
    for (size_t i = 0; i < tasks.size(); ++i) (accepts(tasks[i].file) ? accepted : refused).push_back(i);
    if (accepted.empty() || decode_all(context, turns_[turn], tasks, accepted)) return refused;
    for (const size_t i : accepted) {
      if (!decode_all(context, turns_[turn], tasks, {&i, 1})) refused.push_back(i);
      synchronize(context);  // the state is reused immediately
    }
    return refused;
  }

 private:
  struct Turn {
    State state = nullptr;
    size_t images = 0;  ///< batch size for which the state is initialized; 0: none
  };

  bool accepts(std::string_view file) const {
    int unsupported = 1;
    return f_.JpegStreamParseHeader(handle_, bytes_of(file), file.size(), header_) == kSuccess &&
           f_.DecodeBatchedSupported(handle_, header_, &unsupported) == kSuccess && unsupported == 0;
  }

  /// Returns false if any of the chosen tasks cannot be decoded; nvJPEG does not report which one.
  bool decode_all(Context& context, Turn& turn, std::span<const JpegTask> tasks, std::span<const size_t> chosen) {
    files_.clear();
    sizes_.clear();
    images_.clear();
    for (const size_t i : chosen) {
      files_.push_back(bytes_of(tasks[i].file));
      sizes_.push_back(tasks[i].file.size());
      images_.push_back({{tasks[i].to}, {size_t(tasks[i].width) * 3}});
    }
    constexpr int kCpuThreads = 1;
    if (turn.images != chosen.size())
      check(f_.DecodeBatchedInitialize(handle_, turn.state, int(chosen.size()), kCpuThreads, kInterleavedBgr),
            "nvjpegDecodeBatchedInitialize");
    const Status status =
        f_.DecodeBatched(handle_, turn.state, files_.data(), sizes_.data(), images_.data(), context.stream());
    if (!may_be_the_files_fault(status)) check(status, "nvjpegDecodeBatched");
    turn.images = status == kSuccess ? chosen.size() : 0;  // a failed state is initialized again
    return status == kSuccess;
  }

  void close() {
    for (Turn& turn : turns_)
      if (turn.state) f_.JpegStateDestroy(turn.state);
    if (header_) f_.JpegStreamDestroy(header_);
    f_.Destroy(handle_);
  }

  Functions f_;
  Handle handle_ = nullptr;
  JpegStream header_ = nullptr;
  Turn turns_[kTurns];
  std::string name_;
  std::vector<const unsigned char*> files_;
  std::vector<size_t> sizes_;
  std::vector<Image> images_;
};

JpegDecoder::JpegDecoder(Context& context) : library_(std::make_unique<Library>(context)) {}
JpegDecoder::~JpegDecoder() = default;
JpegDecoder::JpegDecoder(JpegDecoder&&) noexcept = default;

const std::string& JpegDecoder::name() const { return library_->name(); }

std::vector<size_t> JpegDecoder::decode(Context& context, int turn, std::span<const JpegTask> tasks) {
  return library_->decode(context, turn, tasks);
}

}  // namespace cortado::kernels
