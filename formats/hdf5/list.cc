// Lists the content of an untrusted file. Links can form cycles and multiply a few groups into billions of paths;
// layouts can refer to other files, which must not be opened.
#include "hdf5/list.h"

#include <algorithm>
#include <cstring>

namespace cortado::hdf5 {

namespace {

constexpr size_t kMaxLinks = 200'000, kDeepest = 32;

/// A C callback, so it must not throw.
herr_t note_link(hid_t, const char* name, const H5L_info_t* info, void* user) {
  auto& names = *static_cast<std::vector<std::string>*>(user);
  if (info->type == H5L_TYPE_HARD || info->type == H5L_TYPE_SOFT) names.emplace_back(name);
  return names.size() > kMaxLinks ? 1 : 0;
}

class DatasetFinder {
 public:
  std::vector<std::string> datasets;

  void enter(hid_t group, const std::string& path) {
    if (above_.size() == kDeepest) throw Failure("damaged: groups are nested deeper than " + std::to_string(kDeepest));
    H5O_info_t info;
    checked(H5Oget_info(group, &info), "damaged: group '" + path + "' cannot be read");
    if (std::count(above_.begin(), above_.end(), info.addr) > 0) return;
    above_.push_back(info.addr);
    std::vector<std::string> names;
    hsize_t at = 0;
    checked(H5Literate(group, H5_INDEX_NAME, H5_ITER_INC, &at, note_link, &names),
            "damaged: group '" + path + "' cannot be read");
    links_ += names.size();
    if (links_ > kMaxLinks) throw Failure("it has more than " + std::to_string(kMaxLinks) + " links");
    for (const std::string& name : names) visit(group, name, path);
    above_.pop_back();
  }

 private:
  void visit(hid_t group, const std::string& name, const std::string& path) {
    const std::string whole = path.empty() ? name : path + "/" + name;
    H5O_info_t info;
    if (H5Oget_info_by_name(group, name.c_str(), &info, H5P_DEFAULT) < 0) {
      H5L_info_t link;
      const bool soft = H5Lget_info(group, name.c_str(), &link, H5P_DEFAULT) >= 0 && link.type == H5L_TYPE_SOFT;
      if (soft) return;  // a dangling link
      fail("damaged: '" + whole + "' cannot be read");
    }
    if (info.type == H5O_TYPE_DATASET) datasets.push_back(whole);
    if (info.type == H5O_TYPE_GROUP)
      enter(Handle(H5Gopen2(group, name.c_str(), H5P_DEFAULT), "damaged: group '" + whole + "'"), whole);
  }

  std::vector<haddr_t> above_;
  size_t links_ = 0;
};

struct NumberType {
  const char* name;
  hid_t memory;
};

/// The type of `bytes` wide integers.
std::optional<NumberType> integer_of(size_t bytes, bool with_sign) {
  switch (bytes) {
    case 1:
      return with_sign ? NumberType{"I8", H5T_NATIVE_INT8} : NumberType{"U8", H5T_NATIVE_UINT8};
    case 2:
      return with_sign ? NumberType{"I16", H5T_NATIVE_INT16} : NumberType{"U16", H5T_NATIVE_UINT16};
    case 4:
      return with_sign ? NumberType{"I32", H5T_NATIVE_INT32} : NumberType{"U32", H5T_NATIVE_UINT32};
    case 8:
      return with_sign ? NumberType{"I64", H5T_NATIVE_INT64} : NumberType{"U64", H5T_NATIVE_UINT64};
    default:
      return std::nullopt;
  }
}

/// Booleans are stored as enumerations of integers. The library converts enumerations by name only, so they are read
/// unconverted.
std::optional<NumberType> number_of(hid_t type) {
  const size_t bytes = H5Tget_size(type);
  switch (H5Tget_class(type)) {
    case H5T_FLOAT:
      return bytes <= 4 ? NumberType{"F32", H5T_NATIVE_FLOAT} : NumberType{"F64", H5T_NATIVE_DOUBLE};
    case H5T_INTEGER:
      return integer_of(bytes, H5Tget_sign(type) == H5T_SGN_2);
    case H5T_ENUM:
      return bytes == 1 ? std::optional(NumberType{"I8", type}) : std::nullopt;
    default:
      return std::nullopt;
  }
}

constexpr size_t kMaxTextLength = size_t(16) << 20;

std::string to_text(hid_t dataset, hid_t type, const std::string& path) {
  const std::string what = "damaged: the text '" + path + "' cannot be read";
  if (checked(H5Tis_variable_str(type), what) > 0) {
    const Handle memory(H5Tcopy(type), what);
    char* text = nullptr;
    checked(H5Dread(dataset, memory, H5S_ALL, H5S_ALL, H5P_DEFAULT, &text), what);
    const std::string copy = text ? std::string(text, ::strnlen(text, kMaxTextLength)) : "";
    H5free_memory(text);
    return copy;
  }
  const size_t bytes = H5Tget_size(type);
  if (bytes > kMaxTextLength) throw Failure(what + ": it is longer than " + std::to_string(kMaxTextLength) + " bytes");
  std::string text(bytes, '\0');
  checked(H5Dread(dataset, type, H5S_ALL, H5S_ALL, H5P_DEFAULT, text.data()), what);
  return text.substr(0, std::min(text.find('\0'), text.size()));
}

/// The number of rows of a chunk. Throws Failure if the values are stored in other files.
hsize_t unit_rows(hid_t dataset, const Extent& extent, const std::string& path) {
  const Handle properties(H5Dget_create_plist(dataset), "damaged: dataset '" + path + "'");
  if (H5Pget_layout(properties) == H5D_VIRTUAL || H5Pget_external_count(properties) > 0)
    throw Failure("the values of dataset '" + path + "' are stored in other files, which are not read");
  if (H5Pget_layout(properties) != H5D_CHUNKED || extent.dims.empty()) return 1;
  std::vector<hsize_t> chunk(extent.dims.size(), 1);
  checked(H5Pget_chunk(properties, int(chunk.size()), chunk.data()), "damaged: dataset '" + path + "'");
  return std::clamp<hsize_t>(chunk[0], 1, std::max<hsize_t>(1, extent.dims[0]));
}

}  // namespace

std::vector<std::string> list_datasets(hid_t file) {
  DatasetFinder finder;
  finder.enter(Handle(H5Gopen2(file, "/", H5P_DEFAULT), "damaged: the root group is missing"), "");
  return std::move(finder.datasets);
}

std::optional<Found> describe_dataset(hid_t file, const std::string& path) {
  const std::string what = "damaged: dataset '" + path + "' cannot be read";
  const Handle dataset(H5Dopen2(file, path.c_str(), H5P_DEFAULT), what), type(H5Dget_type(dataset), what),
      space(H5Dget_space(dataset), what);
  Found found;
  found.entry.name = path;
  found.extent.dims.resize(size_t(checked(H5Sget_simple_extent_ndims(space), what)));
  H5Sget_simple_extent_dims(space, found.extent.dims.data(), nullptr);
  if (H5Sget_simple_extent_type(space) == H5S_NULL) found.extent.dims = {0};
  for (const hsize_t dim : found.extent.dims)
    if (dim > hsize_t(1) << 62) throw Failure(what + ": an extent of its shape is above 2^62");
  found.entry.shape = Shape(std::vector<int64_t>(found.extent.dims.begin(), found.extent.dims.end()));
  found.extent.unit_rows = unit_rows(dataset, found.extent, path);
  if (H5Tget_class(type) == H5T_STRING && found.entry.shape.axes() == 0) {
    found.text = to_text(dataset, type, path);
    found.entry.type = "STR";
    found.entry.shape = Shape{int64_t(found.text.size())};
    return found;
  }
  const std::optional<NumberType> number = number_of(type);
  if (!number) return std::nullopt;
  found.entry.type = number->name;
  found.memory = H5Tcopy(number->memory);
  found.extent.value_bytes = hsize_t(tensor_value_bytes(found.entry.type));
  return found;
}

}  // namespace cortado::hdf5
