// The ranks of an MPI job. The file is compiled for each MPI with its headers.
//
// Pieces go by MPI_Isend and MPI_Irecv, one per other rank. So it is known which ranks have sent, and neither MPI's
// choice of algorithm nor the progress of its collectives matters. A piece of more than kMaxAtOnce is split, so that
// its size fits MPI's int, and to show progress.

#include <mpi.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <string>
#include <string_view>
#include <system_error>
#include <utility>
#include <vector>

#include "ranks/engine_plugin.h"

namespace {

constexpr size_t kMaxAtOnce = 64 << 20;
constexpr int kTag = 1;

/// Pending requests, and the rank and bytes of each.
struct UnderWay {
  std::vector<MPI_Request> requests;
  std::vector<int> ranks, ended;
  std::vector<size_t> bytes;
  size_t left = 0, moved = 0;
};

MPI_Comm world = MPI_COMM_NULL;
UnderWay under_way;
std::string library_name;
CortadoEngine engine{};
void (*end_process)(int exit_code) = nullptr;

void tell(CortadoEngineText why, const std::string& text) { why.take(why.user, text.data(), text.size()); }

/// Whether a call succeeded; otherwise reports its message.
bool good(int outcome, CortadoEngineText why) {
  if (outcome == MPI_SUCCESS) return true;
  char words[MPI_MAX_ERROR_STRING] = "";
  int size = 0;
  MPI_Error_string(outcome, words, &size);
  std::string text(words, size_t(size));
  std::replace(text.begin(), text.end(), '\n', ' ');
  tell(why, text);
  return false;
}

/// Whether the machine has a network with remote direct memory access.
bool has_rdma() {
  std::error_code none;
  return !std::filesystem::is_empty("/sys/class/infiniband", none) && !none;
}

/// Sets defaults of the libraries, unless the user has set them. Open MPI: TCP in both directions at once; yield the
/// CPU while waiting; leave SIGBUS, by which truncated files are noticed (core/files/mapped_file.h), to us. UCX, which
/// MPICH uses: over TCP, send eagerly; the rendezvous of a long message leaves the link idle for a third of the time.
void advise() {
  if (!has_rdma()) ::setenv("UCX_RNDV_THRESH", "inf", 0);
  for (const auto& [name, value] : {std::pair{"OMPI_MCA_btl_tcp_flags", "1"},
                                    {"OMPI_MCA_mpi_yield_when_idle", "1"},
                                    {"OMPI_MCA_opal_signal", "6,8,11"}})
    ::setenv(name, value, 0);
}

/// "Open MPI 4.1.4", "MPICH 4.0.2" from "Open MPI v4.1.4, package: ..." and "MPICH Version: 4.0.2 ...".
std::string short_name(const std::string& words) {
  const size_t digit = words.find_first_of("0123456789");
  const size_t end = words.find_first_not_of("0123456789.abrc", digit);
  return std::string(CORTADO_MPI) + (digit == std::string::npos ? "" : " " + words.substr(digit, end - digit));
}

template <typename Post>
bool post(const CortadoPiece& piece, int rank, CortadoEngineText why, Post post_part) {
  for (size_t done = 0; done < piece.bytes;) {
    const size_t bytes = std::min(kMaxAtOnce, piece.bytes - done);
    MPI_Request request = MPI_REQUEST_NULL;
    if (!good(post_part(piece.at + done, int(bytes), rank, &request), why)) return false;
    under_way.requests.push_back(request);
    under_way.ranks.push_back(rank);
    under_way.bytes.push_back(bytes);
    ++under_way.left;
    done += bytes;
  }
  return true;
}

/// Starts with the next rank, so that not all ranks send to the same one first.
int start(const CortadoExchange* exchange, CortadoEngineText why) {
  under_way.requests.clear();
  under_way.ranks.clear();
  under_way.bytes.clear();
  under_way.left = 0;
  const auto receive = [&](size_t at, int bytes, int rank, MPI_Request* request) {
    return MPI_Irecv(exchange->receive + at, bytes, MPI_BYTE, rank, kTag, world, request);
  };
  const auto send = [&](size_t at, int bytes, int rank, MPI_Request* request) {
    return MPI_Isend(exchange->send + at, bytes, MPI_BYTE, rank, kTag, world, request);
  };
  for (int i = 1; i < engine.ranks; ++i) {
    const int to = (engine.rank + i) % engine.ranks, from = (engine.rank + engine.ranks - i) % engine.ranks;
    if (!post(exchange->receives[from], from, why, receive)) return kCortadoEngineFailed;
    if (!post(exchange->sends[to], to, why, send)) return kCortadoEngineFailed;
  }
  under_way.ended.resize(under_way.requests.size());
  return kCortadoEngineDone;
}

int test(unsigned char* awaited, size_t* moved, CortadoEngineText why) {
  int ended = 0;
  UnderWay& all = under_way;
  const int outcome = all.left == 0 ? MPI_SUCCESS
                                    : MPI_Testsome(int(all.requests.size()), all.requests.data(), &ended,
                                                   all.ended.data(), MPI_STATUSES_IGNORE);
  for (int i = 0; i < ended; ++i) all.moved += all.bytes[size_t(all.ended[size_t(i)])];
  if (ended > 0) all.left -= size_t(ended);
  *moved = all.moved;
  if (all.left == 0) return kCortadoEngineDone;
  std::fill(awaited, awaited + engine.ranks, 0);
  for (size_t i = 0; i < all.requests.size(); ++i)
    if (all.requests[i] != MPI_REQUEST_NULL) awaited[all.ranks[i]] = 1;
  return good(outcome, why) ? kCortadoEngineMoving : kCortadoEngineFailed;
}

/// MPI notifies other ranks of a failure only by MPI_Abort, which also ends this process. So it is called only if the
/// program allows that. MPI_Abort may call exit(), whose handlers would report a crash: the handler registered here
/// runs first.
int abort_all(int exit_code, CortadoEngineText why) {
  if (!end_process) {
    tell(why, "the other ranks are not notified of this failure: MPI can do that only by ending this process");
    return kCortadoEngineFailed;
  }
  static int code = 0;
  code = exit_code;
  std::atexit([] { end_process(code); });
  std::fflush(nullptr);
  MPI_Abort(MPI_COMM_WORLD, exit_code);
  end_process(exit_code);
  return kCortadoEngineDone;
}

/// Called before MPICH's end, when all ranks have met: a pause in which no rank calls MPI. UCX, which MPICH uses,
/// closes one connection for both directions. A rank that notices that within a call, before it closes its own side,
/// connects again. It then waits forever for a rank that already waits at MPICH's last barrier, which does not progress
/// UCX. Seen with MPICH 4.0.2 and UCX 1.13 over TCP.
void let_all_end_their_calls() {
  constexpr useconds_t kPause = 200'000;
  if (std::string_view(CORTADO_MPI) == "MPICH") ::usleep(kPause);
}

int leave(int exit_code, CortadoEngineText why) {
  if (exit_code != 0) return abort_all(exit_code, why);
  let_all_end_their_calls();
  return good(MPI_Finalize(), why) ? kCortadoEngineDone : kCortadoEngineFailed;
}

/// Uses its own communicator, apart from other users of MPI in this process. Errors are returned, not fatal.
bool start_library(CortadoEngineText why) {
  int level = MPI_THREAD_SINGLE;
  if (!good(MPI_Init_thread(nullptr, nullptr, MPI_THREAD_MULTIPLE, &level), why)) return false;
  if (level < MPI_THREAD_SERIALIZED) {
    tell(why, "this library does not support calls from several threads");
    return false;
  }
  MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
  return good(MPI_Comm_dup(MPI_COMM_WORLD, &world), why) && good(MPI_Comm_rank(world, &engine.rank), why) &&
         good(MPI_Comm_size(world, &engine.ranks), why);
}

}  // namespace

const CortadoEngine* cortado_engine(const CortadoEngineStart* options, CortadoEngineText why) {
  end_process = options->end_process;
  advise();
  if (!start_library(why)) return nullptr;
  char words[MPI_MAX_LIBRARY_VERSION_STRING] = "";
  int size = 0;
  MPI_Get_library_version(words, &size);
  library_name = short_name(std::string(words, size_t(size)));
  engine.version = kCortadoEngineVersion;
  engine.name = library_name.c_str();
  engine.start = start;
  engine.test = test;
  engine.leave = leave;
  return &engine;
}
