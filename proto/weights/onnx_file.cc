#include "proto/weights/onnx_file.h"

#include <unistd.h>

#include <algorithm>
#include <memory>
#include <stdexcept>

#include "core/error.h"
#include "core/files/file.h"
#include "core/files/mapped_file.h"
#include "core/process/program_path.h"
#include "formats/hdf5_file.h"
#include "formats/helper_process.h"
#include "proto/weights/file_kind.h"

namespace cortado {

namespace {

constexpr const char* kOnnxFileProgram = "cortado-onnx";
constexpr size_t kOnnxFilePartBytes = size_t(1) << 20;
constexpr uint64_t kMaxText = uint64_t(64) << 20;

/// The first bytes from the program: 0 and the length of the net's text, or an exit code and the lengths of a message
/// and a hint.
struct Head {
  uint64_t code, length, hint;
};

class Model {
 public:
  Model(const std::string& path, bool weights) : path_(path) {
    MappedFile readable(path);  // throws if it cannot be read
    if (companion_path(kOnnxFileProgram).empty())
      throw file_error(ExitCode::kIo, path,
                       "an ONNX model, and this program was built without ONNX: cortado-onnx is not next to it",
                       "apt install libonnx-dev, then cmake --preset release && cmake --build build");
    std::vector<std::string> arguments = {"send", path};
    if (weights) arguments.push_back("--weights");
    try {
      process_ = std::make_unique<HelperProcess>(kOnnxFileProgram, arguments);
    } catch (const std::runtime_error& error) {
      fail(error.what());
    }
  }

  std::string net() {
    Head head{};
    take(reinterpret_cast<char*>(&head), sizeof head);
    if (head.length > kMaxText || head.hint > kMaxText) fail("its reader sent an invalid header");
    const std::string text = take(head.length);
    if (head.code == 0) return text;
    const std::string hint = take(head.hint);
    throw file_error(ExitCode(head.code), path_, text, hint);
  }

  /// Everything after the text.
  std::string rest() {
    const double most = 0.6 * double(::sysconf(_SC_PHYS_PAGES)) * double(::sysconf(_SC_PAGESIZE));
    std::string bytes;
    for (;;) {
      const size_t have = bytes.size();
      if (double(have) > most) fail("its weights exceed the memory of this machine");
      bytes.resize(have + kOnnxFilePartBytes);
      const size_t got = receive(bytes.data() + have, kOnnxFilePartBytes);
      bytes.resize(have + got);
      if (got == 0) return bytes;
    }
  }

  void finish() {
    if (const std::string reason = process_->finish("reading"); !reason.empty()) fail(reason);
  }

 private:
  size_t receive(char* bytes, size_t n) {
    try {
      return process_->receive(bytes, n);
    } catch (const std::runtime_error& error) {
      fail(std::string("cannot be read: ") + error.what());
    }
  }

  void take(char* bytes, size_t n) {
    while (n > 0) {
      const size_t got = receive(bytes, n);
      if (got == 0) {
        finish();
        fail("its reader ended too early");
      }
      bytes += got;
      n -= got;
    }
  }
  std::string take(uint64_t n) {
    std::string bytes(size_t(n), '\0');
    take(bytes.data(), bytes.size());
    return bytes;
  }

  [[noreturn]] void fail(const std::string& message) const { throw file_error(ExitCode::kNet, path_, message); }

  std::string path_;
  std::unique_ptr<HelperProcess> process_;
};

}  // namespace

bool is_onnx_file(const std::string& path) {
  const FileKind kind = kind_of_file(path);
  const bool unclear = kind == FileKind::kUnknown || kind == FileKind::kSolverState || kind == FileKind::kEmpty;
  return kind == FileKind::kOnnx || (path.ends_with(".onnx") && unclear && file_exists(path));
}

std::string read_onnx_net(const std::string& path) {
  Model model(path, false);
  const std::string text = model.net();
  model.finish();
  return text;
}

std::vector<LayerWeights> read_onnx_weights(const std::string& path, std::string* digest) {
  Model model(path, true);
  model.net();
  const std::string bytes = model.rest();
  model.finish();
  if (digest != nullptr) *digest = digest_of_file(path);
  WeightsOrigin origin;
  return weights_from_bytes(bytes, path, &origin);
}

std::vector<std::string> weights_or_own(const std::vector<std::string>& weights, const std::string& net) {
  return weights.empty() && is_onnx_file(net) ? std::vector<std::string>{net} : weights;
}

}  // namespace cortado
