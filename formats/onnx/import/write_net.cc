#include "onnx/import/write_net.h"

#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <stdexcept>

#include "core/files/file.h"
#include "proto/text/write_text.h"
#include "proto/weights/write_weights.h"

namespace cortado::importing {

namespace {

void put(std::string_view bytes) {
  while (!bytes.empty()) {
    const ssize_t done = ::write(STDOUT_FILENO, bytes.data(), std::min<size_t>(bytes.size(), size_t(1) << 30));
    if (done < 0 && errno == EINTR) continue;
    if (done < 0) throw std::runtime_error(std::string("cannot write: ") + std::strerror(errno));
    bytes.remove_prefix(size_t(done));
  }
}

void put_head(uint64_t code, uint64_t length, uint64_t hint) {
  const uint64_t numbers[] = {code, length, hint};
  put({reinterpret_cast<const char*>(numbers), sizeof numbers});
}

}  // namespace

std::string text_of(const ImportedNet& net, const std::string& model) {
  return "# Made from " + file_name_of(model) + " by `cortado convert onnx`.\n" + to_text(net.net);
}

void write_files(ImportedNet net, const std::string& model, const std::string& prototxt, const std::string& weights) {
  const std::string text = text_of(net, model);
  if (!net.weights.empty()) write_weights_as({}, weights, net.net.name(), std::move(net.weights));
  write_file_atomically(prototxt, text);
}

void send(const ImportedNet& net, const std::string& model, bool wants_weights) {
  const std::string text = text_of(net, model);
  put_head(0, text.size(), 0);
  put(text);
  if (!wants_weights) return;
  send_weights(net.net.name(), net.weights, put);
}

void send_mistake(ExitCode code, const std::string& message, const std::string& hint) {
  put_head(uint64_t(code), message.size(), hint.size());
  put(message);
  put(hint);
}

}  // namespace cortado::importing
