// Runs a snapshot on images and shows its activations and weights, in a child of this program (look/).
#include "core/files/file.h"
#include "core/files/temporary_folder.h"
#include "core/process/program_path.h"
#include "core/text/json.h"
#include "studio/folder.h"
#include "studio/look/look.h"
#include "studio/workplace.h"

namespace cortado::studio {

using http::Refusal;
using http::RequestError;

namespace {

/// The test net of a run.
std::string net_of(const Folder& folder, const std::string& run) {
  for (const char* name : {"net.prototxt", "test_net_0.prototxt", "train_net.prototxt"})
    if (folder.has(run + "/" + name)) return folder.at(run + "/" + name);
  throw RequestError(Refusal::kNotFound, "'" + run + "' has no net");
}

constexpr std::chrono::seconds kOfNet(60), kOfImage(5);  // time limits

/// The images of the body, one after the other: the parameter "sizes" has their numbers of bytes.
std::vector<std::string_view> images_of(const Request& request) {
  const std::vector<int64_t> sizes = request.numbers("sizes");
  const std::string_view content = request.content();
  if (sizes.empty() && content.empty()) return {};
  if (sizes.empty()) return {content};
  if (sizes.size() > kMaxLookedAt)
    throw RequestError(Refusal::kInvalid, "at most " + std::to_string(kMaxLookedAt) + " images in a request");
  std::vector<std::string_view> images;
  size_t begin = 0;
  for (const int64_t size : sizes) {
    if (size < 1 || size_t(size) > content.size() - begin)
      throw RequestError(Refusal::kInvalid, "sizes must be the bytes of each image in the body");
    images.push_back(content.substr(begin, size_t(size)));
    begin += size_t(size);
  }
  if (begin != content.size()) throw RequestError(Refusal::kInvalid, "the body is larger than the sum of sizes");
  return images;
}

/// The body is the images; it is empty if only weights are requested.
Json look(const Workplace& place, const Request& request) {
  const std::string run = request.parameter("run"), net = net_of(place.folder, run);
  const std::string snapshot = "/snapshots/" + checked_name(request.parameter("snapshot"));
  if (!place.folder.has(run + snapshot)) throw RequestError(Refusal::kNotFound, "no such snapshot");
  const TemporaryFolder temporary(kTemporaryName);
  std::vector<std::string> words = {
      program_path(),  "look",  "--model=" + net, "--weights=" + place.folder.file_at(run + snapshot),
      "--like=" + net, "--cpu", "--top=10"};
  for (const auto& [name, flag] : {std::pair("blob", "--blob="), std::pair("layer", "--weights-of=")})
    if (const std::string value = request.parameter(name); !value.empty()) words.push_back(flag + value);
  const std::vector<std::string_view> images = images_of(request);
  for (size_t i = 0; i < images.size(); ++i) words.push_back(temporary.add("image" + std::to_string(i), images[i]));
  const ChildResult result =
      run_child(words, {.folder = place.folder.root(), .time = kOfNet + int(images.size()) * kOfImage});
  if (result.code != 0) throw RequestError(Refusal::kInvalid, plain_message(result.err));
  return parse_json<Json>(result.out);
}

}  // namespace

Routes try_routes(Workplace& place) {
  return {{"POST", "/api/look", [&](const Request& request) { return json_reply(look(place, request)); }}};
}

}  // namespace cortado::studio
