#include <algorithm>

#include "bindings/python/arrays.h"
#include "bindings/python/classes.h"
#include "bindings/python/options.h"
#include "data/sources/datum_reader.h"
#include "data/sources/lmdb_source.h"

namespace py = pybind11;
using namespace py::literals;

namespace cortado::pymodule {

namespace {

/// A database of images. Not thread-safe.
class Dataset {
 public:
  explicit Dataset(const std::string& path)
      : database_(data::Lmdb::open(path)), source_(data::lmdb_source(database_)), finder_(source_->finder(true)) {}

  int64_t size() const { return source_->records(); }

  data::Record find(int64_t number) {
    const int64_t from_start = number < 0 ? number + size() : number;
    if (from_start < 0 || from_start >= size())
      throw py::index_error("record " + std::to_string(number) + " is out of range: the dataset has " +
                            std::to_string(size()));
    const data::Record record = finder_->find(uint64_t(from_start));
    try {
      source_->prefetch(record);
    } catch (const data::SampleError& error) {
      source_->fail(record, error);
    }
    return record;
  }

  std::string key(int64_t number) { return std::string(find(number).key); }

  /// Returns the image, channels x height x width, and its label.
  py::tuple get(int64_t number) {
    const data::Record record = find(number);
    try {
      data::Label label = 0;
      const data::Sample sample = reader_.read(record, label);
      const py::object number = data::is_class(label) ? py::object(py::int_(data::class_of(label))) : py::float_(label);
      if (sample.bytes) return py::make_tuple(planes(sample, sample.bytes), number);
      return py::make_tuple(planes(sample, sample.floats), number);
    } catch (const data::SampleError& error) {
      data::throw_bad_record(*database_, record.key, error);
    }
  }

 private:
  template <typename T>
  static py::array_t<T> planes(const data::Sample& sample, const T* elements) {
    py::array_t<T> array({sample.channels, sample.height, sample.width});
    T* to = array.mutable_data();
    if (!sample.interleaved) {
      std::copy_n(elements, sample.count(), to);
      return array;
    }
    const int64_t pixels = int64_t(sample.height) * sample.width;
    for (int64_t pixel = 0; pixel < pixels; ++pixel)
      for (int64_t c = 0; c < sample.channels; ++c) to[c * pixels + pixel] = *elements++;
    return array;
  }

  std::shared_ptr<const data::Lmdb> database_;
  std::shared_ptr<const data::DataSource> source_;
  std::unique_ptr<data::RecordFinder> finder_;
  data::DatumReader reader_;
};

}  // namespace

void add_dataset(py::module_& module) {
  py::class_<Dataset>(module, "Dataset", "An LMDB of Datums as a sequence of (image, label).")
      .def(py::init([](const py::object& path) { return std::make_unique<Dataset>(path_in(path)); }), "path"_a,
           "Opens the folder of an LMDB.")
      .def("__len__", &Dataset::size, "The number of records.")
      .def("__getitem__", &Dataset::get, "number"_a,
           "Record `number`: image (channels x height x width, bytes or floats as stored; blue, green, red) and label.")
      .def("key", &Dataset::key, "number"_a, "The key of a record.");
}

}  // namespace cortado::pymodule
