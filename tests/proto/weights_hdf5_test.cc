#include "proto/weights/weights_hdf5.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <functional>

#include "core/error.h"
#include "core/files/file.h"
#include "formats/hdf5_file.h"
#include "proto/weights/solver_state_file.h"
#include "proto/weights/solver_state_hdf5.h"
#include "proto/weights/weights_file.h"
#include "tests/harness/errors.h"
#include "tests/harness/hdf5_here.h"

namespace cortado {
namespace {

class WeightsHdf5 : public testing::Test {
 protected:
  void SetUp() override { SKIP_WITHOUT_HDF5(); }
  ~WeightsHdf5() override { std::filesystem::remove(path_); }
  std::string path_ = testing::TempDir() + "cortado_weights_" + std::to_string(::getpid()) + ".h5";
};

std::string error_of(const std::function<void()>& action) { return error_of(action, ExitCode::kSnapshot); }

BlobFile blob(Shape shape, float first) {
  BlobFile made{std::move(shape), {}};
  for (int64_t i = 0; i < made.shape.count(); ++i) made.data.push_back(first + float(i) / 8);
  return made;
}

const LayerWeights* find(const std::vector<LayerWeights>& layers, const std::string& name) {
  for (const LayerWeights& layer : layers)
    if (layer.name == name) return &layer;
  return nullptr;
}

TEST_F(WeightsHdf5, ReadsBackWhatWasWritten) {
  std::vector<LayerWeights> layers = {{"ip2", "", {blob({3, 2}, 1), blob({3}, 2)}},
                                      {"inception/3x3", "", {blob({2, 1, 3, 3}, 3)}},
                                      {"scalar", "", {blob({}, 4)}}};
  for (int i = 0; i < 12; ++i) layers[2].blobs.push_back(blob({1}, float(i)));  // "10" is before "2" in the file
  const std::string written = write_weights_hdf5(path_, layers);
  std::string digest;
  const std::vector<LayerWeights> read = read_weights(path_, &digest);
  EXPECT_EQ(digest, written);
  ASSERT_EQ(read.size(), 3u);
  for (const LayerWeights& layer : layers) {
    const LayerWeights* found = find(read, layer.name);
    ASSERT_NE(found, nullptr) << layer.name;
    ASSERT_EQ(found->blobs.size(), layer.blobs.size()) << layer.name;
    for (size_t i = 0; i < layer.blobs.size(); ++i) {
      EXPECT_EQ(found->blobs[i].shape, layer.blobs[i].shape);
      EXPECT_EQ(found->blobs[i].data, layer.blobs[i].data);
    }
  }
}

TEST_F(WeightsHdf5, AGroupMayHoldLayersAndBlobs) {
  write_weights_hdf5(path_, {{"a", "", {blob({1}, 1), blob({1}, 2)}}, {"a/0x", "", {blob({1}, 3)}}});
  const std::vector<LayerWeights> read = read_weights(path_);
  ASSERT_EQ(read.size(), 2u);
  EXPECT_EQ(find(read, "a")->blobs[1].data[0], 2);
  EXPECT_EQ(find(read, "a/0x")->blobs[0].data[0], 3);
}

TEST_F(WeightsHdf5, SharedBlobsMayBeMissing) {
  write_weights_hdf5(path_, {{"shares", "", {absent_blob(), blob({2}, 1)}}});
  const std::vector<LayerWeights> read = read_weights(path_);
  ASSERT_EQ(read.at(0).blobs.size(), 2u);
  EXPECT_TRUE(is_absent(read[0].blobs[0]));
  EXPECT_FALSE(is_absent(read[0].blobs[1]));
}

TEST_F(WeightsHdf5, ConflictingNamesAreErrors) {
  const auto refused = [&](const std::vector<LayerWeights>& layers) {
    return error_of([&] { write_weights_hdf5(path_, layers); });
  };
  EXPECT_NE(refused({{"a", "", {blob({1}, 1)}}, {"a/0", "", {blob({1}, 2)}}}).find("'data/a/0' is a blob"),
            std::string::npos);
  EXPECT_NE(refused({{"a", "", {blob({1}, 1)}}, {"a", "", {blob({1}, 2)}}}).find("twice"), std::string::npos);
  EXPECT_NE(refused({{"", "", {blob({1}, 1)}}}).find("empty"), std::string::npos);
  EXPECT_NE(refused({{"a/./b", "", {blob({1}, 1)}}}).find("empty"), std::string::npos);
  EXPECT_FALSE(file_exists(path_));
}

TEST_F(WeightsHdf5, ALargeIndexAllocatesNoMemory) {
  const float x = 1;
  for (const char* name : {"data/a/99999999999", "data/a/4294967295", "data/a/200000"}) {
    Hdf5Writer writer(path_, {{name, "F32", {1}}});
    writer.add(&x, sizeof x);
    writer.commit();
    EXPECT_NE(error_of([&] { read_weights(path_); }).find("more than 100000 blobs"), std::string::npos) << name;
  }
}

caffe::SolverState sample_state() {
  caffe::SolverState state;
  state.set_iter(50);
  state.set_current_step(0);
  state.set_learned_net("lenet_iter_50.caffemodel.h5");
  for (int i = 0; i < 12; ++i) to_message(blob({2, 3}, float(i)), *state.add_history());
  state.mutable_training()->set_seed(42);
  state.mutable_training()->set_weights_digest("abc");
  return state;
}

void write(const std::string& path, const caffe::SolverState& state) {
  caffe::SolverState head = state;
  head.clear_history();
  std::vector<Shape> shapes(size_t(state.history_size()), Shape{2, 3});
  SolverStateHdf5Writer writer(path, head, shapes);
  for (const caffe::BlobProto& history : state.history()) writer.add_history(history);
  writer.commit();
}

TEST_F(WeightsHdf5, ReadsBackAState) {
  write(path_, sample_state());
  caffe::SolverState read = read_solver_state(path_);
  EXPECT_EQ(read.training().self_digest(), self_digest(sample_state()));
  read.mutable_training()->clear_self_digest();
  EXPECT_EQ(read.SerializeAsString(), sample_state().SerializeAsString());
}

TEST_F(WeightsHdf5, AStateOfCaffeNeedsNoDigest) {
  caffe::SolverState state = sample_state();
  state.clear_training();
  write(path_, state);
  EXPECT_EQ(read_solver_state(path_).SerializeAsString(), state.SerializeAsString());
}

TEST_F(WeightsHdf5, AStatesDamageIsNoticed) {
  write(path_, sample_state());
  const std::string whole = read_file(path_), expected = read_solver_state(path_).SerializeAsString();
  int refused = 0;
  for (size_t i = 0; i < whole.size(); i += 1 + whole.size() / 150) {
    std::string damaged = whole;
    damaged[i] = char(damaged[i] ^ (1 << (i % 8)));
    write_file_atomically(path_, damaged);
    try {
      EXPECT_TRUE(read_solver_state(path_).SerializeAsString() == expected) << "byte " << i;
    } catch (const Error& error) {
      EXPECT_EQ(error.code(), ExitCode::kSnapshot);
      ++refused;
    }
  }
  EXPECT_GT(refused, 10);
}

/// Flips each bit of each name: without 'training' the file would pass for one of Caffe's, which have no digests.
TEST_F(WeightsHdf5, UnknownNamesInAStateAreErrors) {
  caffe::SolverState state = sample_state();
  state.mutable_training()->set_run("0123456789abcdef");
  state.mutable_training()->set_written(1.5);
  write(path_, state);
  const std::string whole = read_file(path_);
  int flips = 0;
  for (const std::string name : {"cortado", "current_step", "history", "iter", "learned_net", "training"})
    for (size_t at = 0; (at = whole.find('\0' + name + '\0', at)) != std::string::npos; ++at)
      for (size_t bit = 0; bit < name.size() * 8; ++bit, ++flips) {
        std::string damaged = whole;
        damaged[at + 1 + bit / 8] = char(damaged[at + 1 + bit / 8] ^ (1 << bit % 8));
        write_file_atomically(path_, damaged);
        EXPECT_NE(error_of([&] { read_solver_state(path_); }), "") << name << ", bit " << bit;
      }
  EXPECT_GE(flips, 8 * 49);
}

TEST_F(WeightsHdf5, AStateWithoutItsTrainingIsNotCaffes) {
  const auto write_with = [&](const char* extra) {
    const int32_t iter = 3;
    Hdf5Writer writer(path_, {{"iter", "I32", {1}}, {extra, "U8", {4}}});
    writer.add(&iter, sizeof iter);
    writer.add(&iter, sizeof iter);
    writer.commit();
  };
  write_with("cortado");
  EXPECT_NE(error_of([&] { read_solver_state(path_); }).find("its 'training' is missing"), std::string::npos);
  write_with("trainine");
  EXPECT_NE(error_of([&] { read_solver_state(path_); }).find("unknown dataset 'trainine'"), std::string::npos);
}

TEST_F(WeightsHdf5, AStampIsReadAlone) {
  caffe::SolverState state = sample_state();
  write(path_, state);
  EXPECT_EQ(read_state_stamp(path_).run, "");
  EXPECT_GT(read_state_stamp(path_).written, 1e9) << "the time of the file";
  state.mutable_training()->set_run("0123456789abcdef");
  state.mutable_training()->set_written(1.5);
  write(path_, state);
  EXPECT_EQ(read_state_stamp(path_).run, "0123456789abcdef");
  EXPECT_EQ(read_state_stamp(path_).written, 1.5);
}

TEST_F(WeightsHdf5, WeightsAndStatesAreDistinguished) {
  write(path_, sample_state());
  EXPECT_NE(error_of([&] { read_weights(path_); }).find("a solver state, where a weights file is expected"),
            std::string::npos);
  write_weights_hdf5(path_, {{"a", "", {blob({1}, 1)}}});
  EXPECT_NE(error_of([&] { read_solver_state(path_); }).find("a weights file, where a solver state is expected"),
            std::string::npos);
}

}  // namespace
}  // namespace cortado
