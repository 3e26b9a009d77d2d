#pragma once
// Folders of JPEG images, a folder for each class, as torchvision's ImageFolder and the usual ImageNet have them:
// FOLDER/train/CLASS/NAME.jpg and FOLDER/val/CLASS/NAME.jpg (or test). Classes are numbered by the names of train's folders.
// Images stay on disk; each is decoded when it is read, by the thread that reads it, straight into the batch.
//
// Tested as they are: of the largest rectangle of the batch's shape in the image's middle 7/8 of each side (256 to 224).
// Augmented: a random resized crop (Szegedy et al., "Going deeper with convolutions", 2015, section 6): a rectangle of 8 to
// 100 % of the area, its sides' ratio 3:4 to 4:3, both drawn evenly (the ratio by its logarithm), anywhere; where ten
// draws do not fit, the largest in the middle of a ratio in that range. Mirrored half the time.
#include <map>
#include <mutex>
#include <string>
#include <vector>

#include "engine/data/dataset.hpp"
#include "engine/data/jpeg.hpp"

namespace lockstep::data {

/// What becomes of an image that cannot be decoded.
enum class BadImages {
  refuse,  ///< an error that names the file
  skip     ///< the next in the order of the names that can be read stands in for it, with its own label
};

/// The files of one part, by class and name.
struct FolderListing {
  struct File {
    std::string path;
    std::int32_t label;
    std::int64_t bytes;
  };
  std::vector<std::string> classes;  ///< folders, by name
  std::vector<File> files;
};

/// Of FOLDER/CLASS/*.jpg (.jpeg, in any case; names that begin with a dot are nobody's). With `classes` their numbers hold,
/// and a folder of another name is refused. Throws InputError: no class, a class without an image, another kind of file.
FolderListing list_images(const std::string& folder, const std::vector<std::string>* classes = nullptr);
/// A digest of classes, names and sizes: reading all images would take as long as an epoch.
std::string digest_of(const FolderListing& listing);

Region whole_crop(int image_width, int image_height, int height, int width);
/// What training sees of image `index`, and whether it is mirrored.
struct Crop {
  Region region;
  bool is_mirrored;
};
Crop draw_crop(int image_width, int image_height, const Draw& draw, std::int64_t index);

class ImageFolder final : public ImageSource {
 public:
  /// Images of 3 x height x width, normalised as those of ImageNet are (means 0.485, 0.456, 0.406, deviations 0.229, 0.224,
  /// 0.225). Throws InputError for a shape without three channels, or no files.
  ImageFolder(std::string name, FolderListing listing, const ImageShape& shape, BadImages bad_images);

  const std::string& name() const override { return name_; }
  const ImageShape& shape() const override { return shape_; }
  int classes() const override { return static_cast<int>(listing_.classes.size()); }
  std::int64_t count() const override { return static_cast<std::int64_t>(listing_.files.size()); }
  std::int32_t label(std::int64_t index) const override {
    return listing_.files.at(static_cast<std::size_t>(index)).label;
  }
  const std::vector<float>& byte_values() const override { return values_; }
  std::int32_t read(std::int64_t index, const Draw* draw, std::uint8_t* out) const override;
  bool is_drawn() const override { return true; }
  std::vector<std::string> passed_over() const override;

 private:
  /// Throws InputError.
  void decode(const FolderListing::File& file, std::int64_t index, const Draw* draw, std::uint8_t* out) const;

  std::string name_;
  FolderListing listing_;
  ImageShape shape_;
  BadImages bad_images_;
  std::vector<float> values_;
  mutable std::mutex mutex_;
  mutable std::map<std::string, std::string> passed_over_;  ///< file, why; guarded by mutex_
};

}  // namespace lockstep::data
