// The ranks' GPUs by NCCL. Pieces go by ncclSend and ncclRecv, grouped, one per other rank: NCCL adds nothing, so its
// choice of algorithm changes no bits.
//
// The communicator is nonblocking: instead of waiting for ranks that may never come, NCCL returns "in progress" and is
// polled.

#include <nccl.h>
#include <unistd.h>

#include <chrono>
#include <cstring>
#include <string>

#include "ranks/device_plugin.h"

namespace {

using Clock = std::chrono::steady_clock;

static_assert(sizeof(ncclUniqueId) == kCortadoDeviceEngineIdBytes);

ncclComm_t communicator = nullptr;
int own_rank = 0, all_ranks = 1;
double stall_seconds = 300;
std::string library_name;
CortadoDeviceEngine engine{};

void tell(CortadoEngineText why, const std::string& text) { why.take(why.user, text.data(), text.size()); }

bool good(ncclResult_t outcome, CortadoEngineText why) {
  if (outcome == ncclSuccess) return true;
  const char* more = ncclGetLastError(communicator);
  tell(why, std::string(ncclGetErrorString(outcome)) + (more && *more ? std::string(": ") + more : ""));
  return false;
}

/// Waits until the operation completes or fails.
bool settled(ncclResult_t outcome, CortadoEngineText why) {
  const auto begin = Clock::now();
  while (outcome == ncclInProgress) {
    if (std::chrono::duration<double>(Clock::now() - begin).count() > stall_seconds) {
      tell(why, "another rank's GPU does not respond");
      return false;
    }
    ::usleep(100);
    if (ncclCommGetAsyncError(communicator, &outcome) != ncclSuccess) return good(ncclInternalError, why);
  }
  return good(outcome, why);
}

int outcome_of(bool well) { return well ? kCortadoEngineDone : kCortadoEngineFailed; }

int make_id(char* id, CortadoEngineText why) {
  ncclUniqueId made;
  if (!good(ncclGetUniqueId(&made), why)) return kCortadoEngineFailed;
  std::memcpy(id, &made, sizeof made);
  return kCortadoEngineDone;
}

int start(const CortadoDeviceEngineStart* start, CortadoEngineText why) {
  own_rank = start->rank;
  all_ranks = start->ranks;
  stall_seconds = start->stall_seconds;
  ncclUniqueId id;
  std::memcpy(&id, start->id, sizeof id);
  ncclConfig_t config = NCCL_CONFIG_INITIALIZER;
  config.blocking = 0;
  return outcome_of(settled(ncclCommInitRankConfig(&communicator, all_ranks, id, own_rank, &config), why));
}

/// Within a group, where "in progress" is not an error.
bool post(const CortadoExchange* exchange, cudaStream_t stream, CortadoEngineText why) {
  const auto posted = [&](ncclResult_t outcome) { return outcome == ncclInProgress || good(outcome, why); };
  for (int i = 1; i < all_ranks; ++i) {
    const int to = (own_rank + i) % all_ranks, from = (own_rank + all_ranks - i) % all_ranks;
    const CortadoPiece &out = exchange->sends[to], &in = exchange->receives[from];
    if (out.bytes > 0 && !posted(ncclSend(exchange->send + out.at, out.bytes, ncclInt8, to, communicator, stream)))
      return false;
    if (in.bytes > 0 && !posted(ncclRecv(exchange->receive + in.at, in.bytes, ncclInt8, from, communicator, stream)))
      return false;
  }
  return true;
}

int exchange(const CortadoExchange* exchange, void* stream, CortadoEngineText why) {
  if (!good(ncclGroupStart(), why)) return kCortadoEngineFailed;
  const bool posted = post(exchange, static_cast<cudaStream_t>(stream), why);
  const bool ended = settled(ncclGroupEnd(), why);
  return outcome_of(posted && ended);
}

int look(CortadoEngineText why) {
  ncclResult_t state = ncclSuccess;
  if (!good(ncclCommGetAsyncError(communicator, &state), why)) return kCortadoEngineFailed;
  return state == ncclInProgress || good(state, why) ? kCortadoEngineMoving : kCortadoEngineFailed;
}

void abandon() {
  if (communicator) ncclCommAbort(communicator);
  communicator = nullptr;
}

std::string version_text(int code) {
  return std::to_string(code / 10000) + "." + std::to_string(code / 100 % 100) + "." + std::to_string(code % 100);
}

}  // namespace

const CortadoDeviceEngine* cortado_device_engine(CortadoEngineText why) {
  int version = 0;
  if (!good(ncclGetVersion(&version), why)) return nullptr;
  library_name = "NCCL " + version_text(version);
  engine = {kCortadoDeviceEngineVersion, library_name.c_str(), make_id, start, exchange, look, abandon};
  return &engine;
}
