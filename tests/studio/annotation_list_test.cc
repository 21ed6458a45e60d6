// Lists of images and their annotations, from a folder.

#include "studio/annotation_list.h"

#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>

#include "http/request_error.h"

namespace cortado::studio {
namespace {

namespace fs = std::filesystem;

class AnnotationListTest : public testing::Test {
 protected:
  AnnotationListTest() { fs::create_directories(home_); }
  ~AnnotationListTest() override { fs::remove_all(home_); }

  void add(const std::string& path) const {
    fs::create_directories((home_ / path).parent_path());
    std::ofstream(home_ / path) << "x";
  }
  AnnotationList list(const std::string& path = "set") const { return list_annotations(Folder(home_.string()), path); }

  const fs::path home_ = fs::temp_directory_path() / ("studio_annotations_" + std::to_string(::getpid()));
};

TEST_F(AnnotationListTest, names_are_paired) {
  for (const char* path : {"set/a.jpg", "set/a.xml", "set/images/b c.PNG", "set/notes/b.txt", "set/images/d.jpg",
                           "set/notes/d.txt", "set/images/d.xml", "set/images/alone.jpg", "set/other.doc"})
    add(path);
  const AnnotationList found = list();
  EXPECT_EQ(found.text, "a.jpg a.xml\nimages/d.jpg images/d.xml\n") << "the annotation next to the image comes first";
  EXPECT_EQ(found.images, 2);
  EXPECT_EQ(found.left_out, 2);
  add("set/notes/alone.xml");
  EXPECT_EQ(list().text, "a.jpg a.xml\nimages/alone.jpg notes/alone.xml\nimages/d.jpg images/d.xml\n");
}

TEST_F(AnnotationListTest, lists_that_cannot_be_written_are_refused) {
  add("set/a.jpg");
  EXPECT_THROW(list(), http::RequestError) << "no annotation";
  EXPECT_THROW(list("none"), http::RequestError);
  add("set/a b.jpg");
  add("set/a b.xml");
  EXPECT_THROW(list(), http::RequestError) << "a space in an annotation's name";
  fs::remove(home_ / "set/a b.xml");
  add("set/a\nb.jpg");
  add("set/notes/a.xml");
  EXPECT_EQ(list().text, "a.jpg notes/a.xml\n");
  add("set/a\nb.xml");
  EXPECT_THROW(list(), http::RequestError);
}

TEST_F(AnnotationListTest, links_are_not_followed) {
  add("set/a.jpg");
  add("outside/a.xml");
  fs::create_directory_symlink(home_ / "outside", home_ / "set/link");
  EXPECT_THROW(list(), http::RequestError);
  EXPECT_THROW(list("set/link"), http::RequestError);
}

}  // namespace
}  // namespace cortado::studio
