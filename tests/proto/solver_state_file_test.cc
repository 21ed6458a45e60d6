#include "proto/weights/solver_state_file.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>

#include "core/error.h"
#include "core/files/file.h"
#include "proto/weights/weights_file.h"
#include "tests/harness/errors.h"

namespace cortado {
namespace {

caffe::SolverState sample_state() {
  caffe::SolverState state;
  state.set_iter(5000);
  state.set_learned_net("lenet_iter_5000.caffemodel");
  for (int i = 0; i < 3; ++i) {
    caffe::BlobProto& blob = *state.add_history();
    blob.mutable_shape()->add_dim(20);
    for (int k = 0; k < 20; ++k) blob.add_data(float(k) / 7);
  }
  state.set_current_step(2);
  caffe::TrainingState& training = *state.mutable_training();
  training.set_seed(42);
  training.set_pass(5000);
  training.set_weights_digest(digest_of("weights"));
  caffe::DataPosition& data = *training.add_data();
  data.set_layer("mnist");
  data.set_position(320'000);
  return state;
}

class SolverStateFileTest : public testing::Test {
 protected:
  ~SolverStateFileTest() override { std::filesystem::remove(path_); }

  std::string error_of(const std::string& content) {
    return cortado::error_of([&] { solver_state_from_bytes(content, path_); }, ExitCode::kSnapshot);
  }

  std::string path_ = testing::TempDir() + "cortado_state_test_" + std::to_string(::getpid());
};

TEST_F(SolverStateFileTest, ReadsBackWhatWasWritten) {
  const caffe::SolverState state = sample_state();
  write_solver_state(path_, state);
  caffe::SolverState read = read_solver_state(path_);
  EXPECT_FALSE(read.training().self_digest().empty());
  read.mutable_training()->clear_self_digest();
  EXPECT_EQ(read.SerializeAsString(), state.SerializeAsString());
}

TEST_F(SolverStateFileTest, AStateOfCaffeNeedsNoDigest) {
  caffe::SolverState state = sample_state();
  state.clear_training();
  write_file_atomically(path_, state.SerializeAsString());
  EXPECT_EQ(read_solver_state(path_).history_size(), 3);
}

TEST_F(SolverStateFileTest, EveryChangedBitIsNoticed) {
  write_solver_state(path_, sample_state());
  const std::string whole = read_file(path_);
  const caffe::SolverState state = read_solver_state(path_);
  for (size_t bit = 0; bit < whole.size() * 8; ++bit) {
    std::string content = whole;
    content[bit / 8] ^= char(1 << bit % 8);
    try {
      const caffe::SolverState read = solver_state_from_bytes(content, path_);
      EXPECT_TRUE(read.SerializeAsString() == state.SerializeAsString()) << "bit " << bit;
    } catch (const Error& error) {
      EXPECT_EQ(error.code(), ExitCode::kSnapshot);
    }
  }
}

TEST_F(SolverStateFileTest, TruncationIsNoticed) {
  write_solver_state(path_, sample_state());
  const std::string whole = read_file(path_);
  for (size_t size = 0; size < whole.size(); size += 7) EXPECT_NE(error_of(whole.substr(0, size)), "") << size;
}

TEST_F(SolverStateFileTest, WeightsAreRecognised) {
  caffe::NetParameter net;
  net.set_name("fc8labelloss");
  net.add_layer()->set_name("ip");
  const std::string error = error_of(net.SerializeAsString());
  EXPECT_NE(error.find("a weights file, where a solver state is expected"), std::string::npos) << error;
  EXPECT_NE(error.find("--weights"), std::string::npos) << error;
}

TEST_F(SolverStateFileTest, ManyPartsAreAnError) {
  std::string content("\x08\x01\x12\x01x", 5);
  for (int i = 0; i < 400'000; ++i) content += std::string("\x1a\x00", 2);
  EXPECT_NE(error_of(content).find("more than 333334 parts"), std::string::npos);
}

/// A state as of many shards that have separate histories.
TEST_F(SolverStateFileTest, ManyBlobsAreReadBack) {
  caffe::SolverState state = sample_state();
  for (int i = 0; i < 150'000; ++i) {
    caffe::BlobProto& blob = *state.mutable_training()->add_shard_history();
    blob.mutable_shape()->add_dim(1);
    blob.add_data(float(i));
  }
  write_solver_state(path_, state);
  EXPECT_EQ(read_solver_state(path_).training().shard_history_size(), 150'000);
}

}  // namespace
}  // namespace cortado
