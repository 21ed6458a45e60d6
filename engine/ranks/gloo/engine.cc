// Ranks that communicate over TCP by Gloo, for machines without an MPI. They find each other through files in a folder
// that all of them can access.
//
// Gloo has threads that move data and calls that wait, but none that poll. So test() waits, at most for stall_seconds,
// and has completed the exchange when it returns. A wait that times out breaks the connections, so it cannot be used to
// poll.

#include <gloo/context.h>
#include <gloo/rendezvous/context.h>
#include <gloo/rendezvous/file_store.h>
#include <gloo/rendezvous/prefix_store.h>
#include <gloo/transport/tcp/device.h>
#include <gloo/transport/unbound_buffer.h>
#include <ifaddrs.h>
#include <net/if.h>

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <cstdlib>
#include <exception>
#include <memory>
#include <string>
#include <vector>

#include "ranks/engine_plugin.h"
#include "ranks/place.h"

namespace {

using Buffer = std::unique_ptr<gloo::transport::UnboundBuffer>;

std::shared_ptr<gloo::rendezvous::Context> context;
CortadoEngine engine{};
std::vector<Buffer> sends, receives;  ///< per rank; null: none
std::chrono::milliseconds stall_limit;
uint64_t exchanges = 0;
size_t moved_bytes = 0;

/// Pieces from this size on are sent one after the other, to the next rank first, while those of all others may arrive.
/// Where pieces for several ranks share a link, some complete late and links idle meanwhile. Four ranks on links of 400
/// Mbit/s sum 25 MiB in 1.1 times the ideal time; with all pieces at once it is 1.3 times.
constexpr size_t kLongPiece = 1 << 20;

void tell(CortadoEngineText why, const std::string& text) { why.take(why.user, text.data(), text.size()); }

/// Runs `call`; converts exceptions to a message.
template <typename Call>
int outcome_of(CortadoEngineText why, Call call) {
  try {
    call();
    return kCortadoEngineDone;
  } catch (const std::exception& error) {
    std::string text = error.what();  // "[file:line] message"
    if (text.starts_with('[')) text.erase(0, std::min(text.find(']') + 2, text.size()));
    std::replace(text.begin(), text.end(), '\n', ' ');
    tell(why, text);
    return kCortadoEngineFailed;
  }
}

std::string in_environment(const char* variable) {
  const char* text = std::getenv(variable);
  return text ? text : "";
}

/// This machine's network interfaces that are up, the loopback last.
std::vector<std::string> interfaces() {
  std::vector<std::string> names, own;
  ifaddrs* all = nullptr;
  if (getifaddrs(&all) != 0) return names;
  for (const ifaddrs* one = all; one; one = one->ifa_next)
    if (one->ifa_addr && one->ifa_addr->sa_family == AF_INET && (one->ifa_flags & IFF_RUNNING))
      (one->ifa_flags & IFF_LOOPBACK ? own : names).push_back(one->ifa_name);
  freeifaddrs(all);
  names.insert(names.end(), own.begin(), own.end());
  return names;
}

/// The address by which others reach this machine. Its host name often resolves to the loopback.
gloo::transport::tcp::attr own_address() {
  const std::string said = in_environment(cortado::ranks::kAddressVariable);
  const std::vector<std::string> names = interfaces();
  gloo::transport::tcp::attr attributes;
  if (said.empty() && !names.empty())
    attributes.iface = names.front();
  else if (std::count(names.begin(), names.end(), said))
    attributes.iface = said;
  else
    attributes.hostname = said;
  return attributes;
}

/// Distinguishes one start from an earlier one in the same folder, if Slurm sets these variables.
std::string start_name() {
  std::string name = "cortado";
  for (const char* variable : {"SLURM_JOB_ID", "SLURM_STEP_ID", "SLURM_RESTART_COUNT"})
    name += "-" + in_environment(variable);
  return name;
}

void connect(const CortadoEngineStart& start) {
  const std::string folder = in_environment(cortado::ranks::kRendezvousVariable);
  stall_limit = std::chrono::milliseconds(int64_t(start.stall_seconds * 1000));
  gloo::rendezvous::FileStore files(folder);
  gloo::rendezvous::PrefixStore store(start_name(), files);
  auto device = gloo::transport::tcp::CreateDevice(own_address());
  context = std::make_shared<gloo::rendezvous::Context>(start.rank, start.ranks);
  context->setTimeout(stall_limit);
  context->connectFullMesh(store, device);
}

/// One buffer per rank, tagged with the number of the exchange. test() sends long pieces.
int start(const CortadoExchange* exchange, CortadoEngineText why) {
  ++exchanges;
  return outcome_of(why, [&] {
    for (int i = 1; i < engine.ranks; ++i) {
      const int to = (engine.rank + i) % engine.ranks, from = (engine.rank + engine.ranks - i) % engine.ranks;
      if (const CortadoPiece& piece = exchange->receives[from]; piece.bytes > 0) {
        receives[size_t(from)] = context->createUnboundBuffer(exchange->receive + piece.at, piece.bytes);
        receives[size_t(from)]->recv(from, exchanges);
      }
      if (const CortadoPiece& piece = exchange->sends[to]; piece.bytes > 0) {
        sends[size_t(to)] = context->createUnboundBuffer(const_cast<char*>(exchange->send) + piece.at, piece.bytes);
        if (piece.bytes < kLongPiece) sends[size_t(to)]->send(to, exchanges);
      }
    }
  });
}

void wait_for_receive(Buffer& buffer, std::chrono::milliseconds limit) {
  if (!buffer) return;
  buffer->waitRecv(limit);
  moved_bytes += buffer->size;
  buffer.reset();
}

void wait_for_send(Buffer& buffer, std::chrono::milliseconds limit) {
  if (!buffer) return;
  buffer->waitSend(limit);
  moved_bytes += buffer->size;
  buffer.reset();
}

/// After a failure: collects what arrived nevertheless, so that messages name only the ranks that are missing.
void collect_what_is_done() {
  constexpr std::chrono::milliseconds kNoTime(1);
  const CortadoEngineText nobody{[](void*, const char*, size_t) {}, nullptr};
  for (Buffer& receive : receives) outcome_of(nobody, [&] { wait_for_receive(receive, kNoTime); });
  for (Buffer& send : sends) outcome_of(nobody, [&] { wait_for_send(send, kNoTime); });
}

int test(unsigned char* awaited, size_t* moved, CortadoEngineText why) {
  const int outcome = outcome_of(why, [&] {
    for (int i = 1; i < engine.ranks; ++i) {
      const int to = (engine.rank + i) % engine.ranks;
      Buffer& piece = sends[size_t(to)];
      if (piece && piece->size >= kLongPiece) piece->send(to, exchanges);
      wait_for_send(piece, stall_limit);
    }
    for (Buffer& piece : receives) wait_for_receive(piece, stall_limit);
  });
  if (outcome != kCortadoEngineDone) collect_what_is_done();
  for (size_t r = 0; r < size_t(engine.ranks); ++r) awaited[r] = receives[r] || sends[r];
  *moved = moved_bytes;
  return outcome;
}

/// Other ranks notice closed connections. After a failure nothing is destroyed, because pending operations refer to
/// memory that may be freed; the process ends soon.
int leave(int exit_code, CortadoEngineText why) {
  return outcome_of(why, [&] {
    if (exit_code == 0) context.reset();
  });
}

}  // namespace

const CortadoEngine* cortado_engine(const CortadoEngineStart* options, CortadoEngineText why) {
  if (outcome_of(why, [&] { connect(*options); }) != kCortadoEngineDone) return nullptr;
  engine = {kCortadoEngineVersion, "Gloo", options->rank, options->ranks, start, test, leave};
  sends.resize(size_t(options->ranks));
  receives.resize(size_t(options->ranks));
  return &engine;
}
