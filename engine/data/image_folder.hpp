#pragma once
// Reads folders of JPEG images with one folder per class, as torchvision's ImageFolder and most copies of ImageNet:
// FOLDER/train/CLASS/NAME.jpg and FOLDER/val/CLASS/NAME.jpg (or test). Classes are numbered by the sorted names of
// train's folders. Images stay on disk. The thread that reads an image decodes it straight into the batch.
//
// For tests, an image is cropped to a centred rectangle of the batch's aspect ratio. Its sides are 7/8 of the largest
// possible (224 of 256). Training uses a random resized crop (Szegedy et al., "Going deeper with convolutions", 2015,
// section 6). Its area is 8 to 100 % of the image's, its aspect ratio 3:4 to 4:3, both uniform (the ratio in its
// logarithm), at a uniform position. If ten draws do not fit, it is the largest centred crop with a ratio in that
// range. Half of the crops are mirrored.
#include <map>
#include <mutex>
#include <string>
#include <vector>

#include "engine/data/dataset.hpp"
#include "engine/data/jpeg.hpp"

namespace lockstep::data {

/// What to do with an image that cannot be decoded.
enum class BadImages {
  refuse,  ///< an error that names the file
  skip     ///< replaced by the next readable image in the order of names, with that image's label
};

/// The files of one part (train or val), sorted by class and name.
struct FolderListing {
  struct File {
    std::string path;
    std::int32_t label;
    std::int64_t bytes;
  };
  std::vector<std::string> classes;  ///< folder names, sorted
  std::vector<File> files;
};

/// Lists FOLDER/CLASS/*.jpg (or .jpeg, in any case); ignores names that begin with a dot. If `classes` is given, they
/// define the numbers, and other folders are refused. Throws InputError for no class, a class without images, or
/// another kind of file.
FolderListing list_images(const std::string& folder, const std::vector<std::string>* classes = nullptr);
/// A digest of classes, names and sizes. It does not read the images, which would take as long as an epoch.
std::string digest_of(const FolderListing& listing);

Region whole_crop(int image_width, int image_height, int height, int width);
/// The crop of an image for training, and whether it is mirrored.
struct Crop {
  Region region;
  bool is_mirrored;
};
Crop draw_crop(int image_width, int image_height, const Draw& draw, std::int64_t index);

class ImageFolder final : public ImageSource {
 public:
  /// Images of 3 x height x width, normalised as is common for ImageNet (means 0.485, 0.456, 0.406, deviations 0.229,
  /// 0.224, 0.225). Throws InputError for a shape without three channels, or if there are no files.
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
  mutable std::map<std::string, std::string> passed_over_;  ///< file -> reason; guarded by mutex_
};

}  // namespace lockstep::data
