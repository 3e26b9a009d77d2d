// The table of the zoo. Sizes are checked layer by layer against tests/data/models/layers.tsv.
#include <array>

#include "engine/model/zoo_blocks.hpp"

namespace lockstep::model {
namespace {

struct Entry {
  const char* name;
  Graph (*build)();
};

constexpr std::array<Entry, 20> kZoo{{
    {"lenet_crossbow", zoo::lenet_crossbow},
    {"lenet_caffe", zoo::lenet_caffe},
    {"cifar10_quick", zoo::cifar10_quick},
    {"resnet32_crossbow", zoo::resnet32_crossbow},
    {"resnet32_optA", zoo::resnet32_option_a},
    {"vgg16_cifar100", zoo::vgg16_cifar100},
    {"alexnet_grouped", zoo::alexnet_grouped},
    {"alexnet_ungrouped", zoo::alexnet_ungrouped},
    {"alexnet_bn_jizhi", zoo::alexnet_batch_norm},
    {"googlenet_aux", zoo::googlenet_with_heads},
    {"googlenet_noaux", zoo::googlenet},
    {"vgg16", zoo::vgg16},
    {"vgg19", zoo::vgg19},
    {"vgg19_22k", zoo::vgg19_22k},
    {"inception_v3", zoo::inception_v3},
    {"inception_v3_aux", zoo::inception_v3_with_head},
    {"resnet50", zoo::resnet50},
    {"resnet50_v15", zoo::resnet50_v15},
    {"resnet101", zoo::resnet101},
    {"resnet152", zoo::resnet152},
}};

struct Alias {
  const char* alias;
  const char* name;
};

constexpr std::array<Alias, 4> kAliases{{
    {"lenet", "lenet_crossbow"},
    {"alexnet", "alexnet_ungrouped"},
    {"resnet32", "resnet32_crossbow"},
    {"googlenet", "googlenet_noaux"},
}};

std::string resolve(const std::string& name) {
  for (const Alias& alias : kAliases) {
    if (name == alias.alias) return alias.name;
  }
  return name;
}

}  // namespace

std::vector<std::string> zoo_names() {
  std::vector<std::string> names;
  for (const Entry& entry : kZoo) names.push_back(entry.name);
  return names;
}

Graph zoo_graph(const std::string& name) {
  const std::string resolved = resolve(name);
  std::string known;
  for (const Entry& entry : kZoo) {
    if (resolved == entry.name) return entry.build();
    known += (known.empty() ? "" : ", ") + std::string(entry.name);
  }
  throw InputError("model \"" + name + "\" is unknown; known: " + known);
}

}  // namespace lockstep::model
