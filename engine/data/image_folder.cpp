#include "engine/data/image_folder.hpp"

#include <algorithm>
#include <cctype>
#include <cmath>
#include <filesystem>

#include "engine/base/atomic_file.hpp"
#include "engine/base/json.hpp"
#include "engine/base/provenance.hpp"
#include "engine/base/random.hpp"
#include "engine/base/text.hpp"

namespace lockstep::data {
namespace {

namespace fs = std::filesystem;

constexpr std::size_t kLargestImageBytes = std::size_t{1} << 28;
constexpr std::uint64_t kCropStream = 0x43726F7043726F70;
constexpr double kLeastArea = 0.08;
constexpr double kLeastRatio = 3.0 / 4, kMostRatio = 4.0 / 3;
constexpr double kTestedShare = 7.0 / 8;  // 224 of 256
constexpr std::uint64_t kTries = 10, kDrawsOfTry = 4;

std::vector<fs::directory_entry> entries_of(const std::string& folder) {
  std::error_code error;
  fs::directory_iterator all(folder, error);
  if (error) throw InputError(folder + ": cannot be read: " + error.message());
  std::vector<fs::directory_entry> entries;
  for (const fs::directory_entry& entry : all)
    if (entry.path().filename().string().front() != '.') entries.push_back(entry);
  std::sort(entries.begin(), entries.end());
  return entries;
}

bool is_jpeg(const fs::path& file) {
  const std::string ending = lower_case(file.extension().string());
  return ending == ".jpg" || ending == ".jpeg";
}

void append_class(const fs::path& folder, std::int32_t label, FolderListing& listing) {
  const std::size_t before = listing.files.size();
  for (const fs::directory_entry& entry : entries_of(folder.string())) {
    std::error_code error;
    const auto bytes = entry.is_regular_file(error) ? static_cast<std::int64_t>(entry.file_size(error)) : 0;
    if (error || !entry.is_regular_file(error) || !is_jpeg(entry.path()))
      throw InputError(entry.path().string() + ": is no JPEG image; allowed in the folder of a class: .jpg, .jpeg");
    listing.files.push_back({entry.path().string(), label, bytes});
  }
  if (listing.files.size() == before)
    throw InputError(folder.string() + ": no image; allowed: a class with .jpg or .jpeg files");
}

std::int32_t label_of(const fs::path& folder, const std::vector<std::string>& classes) {
  const std::string name = folder.filename().string();
  const auto found = std::lower_bound(classes.begin(), classes.end(), name);
  if (found == classes.end() || *found != name)
    throw InputError(folder.string() + ": no class of the training images; allowed: the folders of these");
  return static_cast<std::int32_t>(found - classes.begin());
}

Region in_the_middle(int image_width, int image_height, double width, double height) {
  const int w = std::clamp(static_cast<int>(std::lround(width)), 1, image_width);
  const int h = std::clamp(static_cast<int>(std::lround(height)), 1, image_height);
  return {(image_width - w) / 2, (image_height - h) / 2, w, h};
}

}  // namespace

FolderListing list_images(const std::string& folder, const std::vector<std::string>* classes) {
  FolderListing listing;
  std::vector<fs::path> folders;
  for (const fs::directory_entry& entry : entries_of(folder)) {
    if (!entry.is_directory())
      throw InputError(entry.path().string() + ": is no folder; allowed beside the folders of the classes: nothing");
    folders.push_back(entry.path());
    if (classes == nullptr) listing.classes.push_back(entry.path().filename().string());
  }
  if (folders.empty()) throw InputError(folder + ": no class; allowed: a folder for each, with .jpg or .jpeg files");
  if (classes != nullptr) listing.classes = *classes;
  for (const fs::path& of_class : folders) append_class(of_class, label_of(of_class, listing.classes), listing);
  return listing;
}

std::string digest_of(const FolderListing& listing) {
  std::string text;
  for (const FolderListing::File& file : listing.files)
    text += listing.classes[static_cast<std::size_t>(file.label)] + "/" + fs::path(file.path).filename().string() +
            " " + std::to_string(file.bytes) + "\n";
  return sha256_hex(text);
}

Region whole_crop(int image_width, int image_height, int height, int width) {
  const double scale = std::min(double{1} * image_width / width, double{1} * image_height / height) * kTestedShare;
  return in_the_middle(image_width, image_height, scale * width, scale * height);
}

Crop draw_crop(int image_width, int image_height, const Draw& draw, std::int64_t index) {
  const std::uint64_t key = random_bits(draw.seed, kCropStream, static_cast<std::uint64_t>(draw.epoch));
  const auto uniform = [&](std::uint64_t stream) {
    return random_uniform(key, stream, static_cast<std::uint64_t>(index));
  };
  const auto below = [&](std::uint64_t stream, int count) {  // uniform from 0 to count - 1
    return std::min(static_cast<int>(uniform(stream) * count), count - 1);
  };
  const bool is_mirrored = uniform(0) < 0.5;
  const double area = double{1} * image_width * image_height;
  for (std::uint64_t attempt = 0; attempt < kTries; ++attempt) {
    const std::uint64_t stream = 1 + attempt * kDrawsOfTry;
    const double part = area * (kLeastArea + uniform(stream) * (1 - kLeastArea));
    const double ratio = kLeastRatio * std::pow(kMostRatio / kLeastRatio, uniform(stream + 1));
    const int width = static_cast<int>(std::lround(std::sqrt(part * ratio)));
    const int height = static_cast<int>(std::lround(std::sqrt(part / ratio)));
    if (width < 1 || height < 1 || width > image_width || height > image_height) continue;
    return {{below(stream + 2, image_width - width + 1), below(stream + 3, image_height - height + 1), width, height},
            is_mirrored};
  }
  const double ratio = std::clamp(double{1} * image_width / image_height, kLeastRatio, kMostRatio);
  const double width = std::min<double>(image_width, image_height * ratio);
  return {in_the_middle(image_width, image_height, width, width / ratio), is_mirrored};
}

ImageFolder::ImageFolder(std::string name, FolderListing listing, const ImageShape& shape, BadImages bad_images)
    : name_(std::move(name)),
      listing_(std::move(listing)),
      shape_(shape),
      bad_images_(bad_images),
      values_(float_table({{0.485F, 0.456F, 0.406F}, {0.229F, 0.224F, 0.225F}})) {
  if (!has_jpeg()) throw InputError(name_ + ": this build reads no JPEG images (CMake found no libjpeg-turbo)");
  if (listing_.files.empty()) throw InputError(name_ + ": no images");
  if (shape.channels != 3 || shape.height < 1 || shape.width < 1)
    throw InputError(name_ + ": images of " + std::to_string(shape.channels) +
                     " channels; allowed: 3, as JPEG images have");
}

void ImageFolder::decode(const FolderListing::File& file, std::int64_t index, const Draw* draw,
                         std::uint8_t* out) const {
  std::string content;
  std::string why;
  if (!try_read_file(file.path, kLargestImageBytes, content, why))
    throw InputError(file.path + ": cannot be read: " + why);
  JpegImage image(content, file.path);
  const Crop crop = draw != nullptr
                        ? draw_crop(image.width(), image.height(), *draw, index)
                        : Crop{whole_crop(image.width(), image.height(), shape_.height, shape_.width), false};
  image.decode(crop.region, shape_.height, shape_.width, crop.is_mirrored, out);
}

std::int32_t ImageFolder::read(std::int64_t index, const Draw* draw, std::uint8_t* out) const {
  for (std::int64_t n = 0; n < count(); ++n) {
    const FolderListing::File& file = listing_.files.at(static_cast<std::size_t>((index + n) % count()));
    try {
      decode(file, index, draw, out);
      return file.label;
    } catch (const InputError& error) {
      const std::string line = error.what();
      if (bad_images_ == BadImages::refuse)
        throw InputError(line + "; allowed: an image that libjpeg-turbo decodes, or --bad-images skip");
      const std::lock_guard<std::mutex> lock(mutex_);
      passed_over_[file.path] = one_line(line);
    }
  }
  throw InputError(name_ + ": none of its images can be decoded");
}

std::vector<std::string> ImageFolder::passed_over() const {
  const std::lock_guard<std::mutex> lock(mutex_);
  std::vector<std::string> lines;
  for (const auto& [file, line] : passed_over_) lines.push_back(line);
  return lines;
}

}  // namespace lockstep::data
