// `cortado serve`: its flags. The server is another program, cortado-serve, because its libraries would slow down each
// start of this one. It uses the same table of flags, and gets the arguments in canonical spelling.
#include "tools/infer/image_input.h"
#include "tools/options/inference_net.h"
#include "tools/options/run_options.h"
#include "tools/options/run_source.h"
#include "tools/program/command.h"
#include "tools/program/companion.h"

namespace cortado::tools {

namespace {

int start_server(const Arguments& arguments) {
  return exec_companion("cortado-serve",
                        "scripts/install_deps.sh build, then cmake --preset release && cmake --build build",
                        with_run(arguments));
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
  std::vector<Flag> net = trained_net_flags(false);
  for (Flag& flag : net) flag.required = false;  // --models may replace all of them
  Flag blobs = blobs_flag("that clients may request; by default the net's outputs");
  blobs.former = {"output"};
  return joined({net,
                 {{.name = "name",
                   .kind = FlagKind::kText,
                   .value = "NAME",
                   .help = "the model's name in requests; by default its file's name without the ending"},
                  {.name = "models",
                   .kind = FlagKind::kText,
                   .value = "FOLDER",
                   .help = "models that can be loaded and replaced while the server runs: FOLDER/NAME/VERSION has "
                           "deploy.prototxt, one file of weights and, for images, labels.txt and train_val.prototxt"},
                  labels_flag(),
                  top_flag(1000),
                  threshold_flag(),
                  blobs,
                  set_flag(),
                  layer_flag()}});
}

std::vector<Flag> address_flags() {
  return {{.name = "host",
           .kind = FlagKind::kText,
           .value = "ADDRESS",
           .help = "address to listen on; 0.0.0.0 is every IPv4 address of this machine",
           .fallback = "127.0.0.1"},
          port_flag("8080"),
          count_flag("grpc-port", "TCP port for gRPC; 0 chooses a free one, -1 disables gRPC", "8081", -1, 65535),
          file_flag("tls-cert", "certificate chain (PEM), for TLS on both ports"),
          file_flag("tls-key", "the certificate's private key (PEM)"),
          file_flag("token-file", "file with a token that requests must send: 'Authorization: Bearer TOKEN'"),
          {.name = "allow-origin",
           .kind = FlagKind::kText,
           .value = "URL,...",
           .help = "web pages of other origins that may send requests, for example https://page.example"}};
}

std::vector<Flag> batching_flags() {
  return in_group(
      "Batching",
      advanced({count_flag("max-batch", "largest number of rows in a batch", "16", 1, 128),
                {.name = "max-delay",
                 .kind = FlagKind::kNumber,
                 .value = "MS",
                 .help = "milliseconds that a request may wait for others to join its batch",
                 .fallback = "2"},
                count_flag("contexts", "batches of a model that run at the same time", "1", 1, 16),
                count_flag("queue", "requests of a model that may wait; more are refused", "256", 1, 1 << 20)}));
}

std::vector<Flag> limit_flags() {
  return in_group(
      "Limit",
      advanced(
          {max_body_flag("64"), count_flag("max-memory", "memory for all requests, in MiB", "1024", 1, 1 << 20),
           count_flag("max-connections", "HTTP connections; more are refused", "1024", 1, 100000),
           seconds_flag("header-timeout", "time for a request's head to arrive", "10"),
           seconds_flag("body-timeout", "time for a request's body to arrive, and for a response to be read", "60"),
           seconds_flag("idle-timeout", "time until an idle connection is closed", "120"),
           seconds_flag("drain-timeout", "time to finish requests after SIGTERM", "30")}));
}

}  // namespace

Command serve_command() {
  return {.name = "serve",
          .summary = "Serve nets over HTTP and gRPC",
          .flags = joined({model_flags(), address_flags(), batching_flags(), limit_flags(),
                           advanced(image_input_flags()), state_flags(), device_flags()}),
          .examples = {{"cortado serve runs/first", "what a run trained: http://127.0.0.1:8080/, gRPC on port 8081"},
                       {"cortado serve deploy.prototxt net.caffemodel --name=net", "any net"},
                       {"curl --data-binary @cat.jpg http://127.0.0.1:8080/v1/classify", "the classes of an image"},
                       {"cortado serve --models=models --host=0.0.0.0 --tls-cert=chain.pem --tls-key=key.pem "
                        "--token-file=token",
                        "a folder of models for other machines"}},
          .run = start_server,
          .about =
              "The protocol is KServe's Open Inference Protocol, version 2: clients of Triton and KServe work. "
              "Concurrent requests share a batch. SIGTERM finishes accepted requests and ends the server with "
              "code 0. docs/serving.md has more."};
}

}  // namespace cortado::tools
