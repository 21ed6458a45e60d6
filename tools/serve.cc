// `cortado serve`: its flags. The server is a program of its own, cortado-serve, since its libraries would make every
// start of this one slow; it stands above this folder, reads the same table (tools::serve_command()) and is handed
// what was given in the table's own spelling.
#include "tools/infer/image_input.h"
#include "tools/options/run_options.h"
#include "tools/program/command.h"
#include "tools/program/companion.h"

namespace cortado::tools {

namespace {

int become_server(const Arguments& arguments) {
  return become_companion(
      "cortado-serve", "scripts/install_deps.sh build, then cmake --preset release && cmake --build build", arguments);
}

Flag count_flag(const char* name, const char* help, const char* fallback, int64_t least, int64_t most) {
  return {.name = name,
          .kind = FlagKind::kInteger,
          .value = "N",
          .help = help,
          .fallback = fallback,
          .least = least,
          .most = most};
}

Flag seconds_flag(const char* name, const char* help, const char* fallback) {
  Flag flag = count_flag(name, help, fallback, 1, 86400);
  flag.value = "SECONDS";
  return flag;
}

Flag file_flag(const char* name, const char* help) {
  return {.name = name, .kind = FlagKind::kText, .value = "FILE", .help = help};
}

std::vector<Flag> model_flags() {
  Flag model = model_flag();
  model.required = false;  // --models may say all
  return {model,
          weights_flag("trained weights"),
          {.name = "name",
           .kind = FlagKind::kText,
           .value = "NAME",
           .help = "what requests call the model; unless given the file's name without its ending"},
          {.name = "models",
           .kind = FlagKind::kText,
           .value = "FOLDER",
           .help = "models that can be loaded and replaced while the server runs: FOLDER/NAME/VERSION has "
                   "deploy.prototxt, one file of weights and, for images, labels.txt and train_val.prototxt"},
          set_flag(),
          file_flag("labels", "names of the classes, one a line; unless given those beside the dataset or the model"),
          count_flag("top", "how many classes are told of an image", "5", 1, 1000),
          {.name = "threshold",
           .kind = FlagKind::kNumber,
           .value = "SCORE",
           .help = "objects in an image whose score is lower are not told",
           .fallback = "0.5"},
          {.name = "output",
           .kind = FlagKind::kText,
           .value = "BLOB,...",
           .help = "the blobs that clients may ask for; unless given the net's outputs"}};
}

std::vector<Flag> address_flags() {
  return {{.name = "host",
           .kind = FlagKind::kText,
           .value = "ADDRESS",
           .help = "the address that is listened on; 0.0.0.0 is every IPv4 address of this machine",
           .fallback = "127.0.0.1"},
          count_flag("port", "of HTTP; 0 takes a free one", "8080", 0, 65535),
          count_flag("grpc-port", "of gRPC; 0 takes a free one, -1 is none", "8081", -1, 65535),
          file_flag("tls-cert", "certificate chain (PEM): both ports speak TLS"),
          file_flag("tls-key", "the certificate's private key (PEM)"),
          file_flag("token-file", "requests must carry 'Authorization: Bearer TOKEN' with the token in this file")};
}

std::vector<Flag> batching_flags() {
  return {count_flag("max-batch", "the most rows that are computed at once", "16", 1, 128),
          {.name = "max-delay",
           .kind = FlagKind::kNumber,
           .value = "MS",
           .help = "milliseconds that a request may wait for others to be computed with it",
           .fallback = "2"},
          count_flag("contexts", "batches of a model that are computed at the same time", "1", 1, 16),
          count_flag("queue", "requests of a model that may wait; more are refused", "256", 1, 1 << 20)};
}

std::vector<Flag> limit_flags() {
  return {count_flag("max-body", "the most MiB of one request", "64", 1, 1024),
          count_flag("max-memory", "the most MiB of all requests that are read or wait", "1024", 1, 1 << 20),
          count_flag("max-connections", "of HTTP; more are refused", "1024", 1, 100000),
          seconds_flag("header-timeout", "in which a request's head has to come", "10"),
          seconds_flag("body-timeout", "in which its body has to come, or its answer to be taken", "60"),
          seconds_flag("idle-timeout", "after which a connection without requests is closed", "120"),
          seconds_flag("drain-timeout", "that requests have to be finished in after SIGTERM", "30")};
}

}  // namespace

Command serve_command() {
  return {.name = "serve",
          .summary = "answers requests over HTTP and gRPC",
          .flags = joined({model_flags(), address_flags(), batching_flags(), limit_flags(), image_input_flags(),
                           state_flags(), device_flags()}),
          .operands = {},
          .examples = {{"cortado serve --model=deploy.prototxt --weights=net.caffemodel --name=net",
                        "the page http://127.0.0.1:8080/, HTTP there, gRPC on port 8081"},
                       {"curl --data-binary @cat.jpg http://127.0.0.1:8080/v1/classify", "the classes of an image"},
                       {"cortado serve --models=models --host=0.0.0.0 --tls-cert=chain.pem --tls-key=key.pem "
                        "--token-file=token",
                        "a folder of models for other machines"}},
          .run = become_server,
          .about =
              "The protocol is KServe's Open Inference Protocol, version 2, so clients of Triton and KServe work. "
              "Requests that come together are computed together. SIGTERM finishes what was accepted and ends the "
              "server with code 0. docs/serving.md tells the rest."};
}

}  // namespace cortado::tools
