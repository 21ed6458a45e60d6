// Runs a snapshot on an image and shows its activations and weights, in a child of this program (look/).
#include "core/files/file.h"
#include "core/files/temporary_folder.h"
#include "core/process/program_path.h"
#include "core/text/json.h"
#include "studio/folder.h"
#include "studio/workplace.h"
#include "tools/infer/image_input.h"

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

/// The body is the image; it is empty if only weights are requested.
Json look(const Workplace& place, const Request& request) {
  const std::string run = request.parameter("run"), net = net_of(place.folder, run);
  const std::string snapshot = "/snapshots/" + checked_name(request.parameter("snapshot"));
  if (!place.folder.has(run + snapshot)) throw RequestError(Refusal::kNotFound, "no such snapshot");
  const TemporaryFolder temporary("cortado-studio");
  std::vector<std::string> words = {program_path(),   "look",
                                    "--model=" + net, "--weights=" + place.folder.file_at(run + snapshot),
                                    "--cpu",          "--top=10"};
  if (!request.content().empty()) {
    if (!tools::is_trusted_format(request.content()))
      throw RequestError(Refusal::kMediaType, "not a JPEG, PNG, PGM or PPM image");
    words.push_back("--like=" + net);
    words.push_back("--image=" + temporary.add("image", request.content()));
  }
  for (const auto& [name, flag] : {std::pair("blob", "--blob="), std::pair("layer", "--weights-of=")})
    if (const std::string value = request.parameter(name); !value.empty()) words.push_back(flag + value);
  const ChildResult result = run_child(words, {.folder = place.folder.root()});
  if (result.code != 0) throw RequestError(Refusal::kInvalid, plain_message(result.err));
  return parse_json<Json>(result.out);
}

}  // namespace

Routes try_routes(Workplace& place) {
  return {{"POST", "/api/look", [&](const Request& request) { return json_reply(look(place, request)); }}};
}

}  // namespace cortado::studio
