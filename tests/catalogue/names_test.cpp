// Every name refers to one thing or to nothing.
#include <algorithm>
#include <map>
#include <set>

#include "engine/base/atomic_file.hpp"
#include "engine/base/edit_distance.hpp"
#include "engine/model/zoo/zoo.hpp"
#include "sim/catalogue/name_index.hpp"
#include "sim/scenario/nccl_spec.hpp"
#include "tests/base/input_error.hpp"
#include "tests/base/temporary_folder.hpp"
#include "tests/catalogue/catalogue.hpp"
#include "tests/catch.hpp"

namespace lockstep::tests {

enum class Fruit { apple, pear };

inline const Choices<Fruit>& choices_of(Fruit) {
  static const Choices<Fruit> all{{Fruit::apple, "apple", {"pippin"}}, {Fruit::pear, "pear"}};
  return all;
}

namespace {

std::vector<std::string> names_of(const sim::Entry& entry) {
  std::vector<std::string> names = entry.aliases;
  names.push_back(entry.id);
  if (!entry.name.empty()) names.push_back(entry.name);
  return names;
}

std::string in_capitals(std::string text) {
  for (char& c : text) c = static_cast<char>(std::toupper(static_cast<unsigned char>(c)));
  return text;
}

std::string replaced(std::string text, char from, char to) {
  std::replace(text.begin(), text.end(), from, to);
  return text;
}

template <typename Of>
void check_names(const sim::Entries<Of>& entries) {
  std::map<std::string, std::string> owners;
  for (const Of& entry : entries)
    for (const std::string& name : names_of(entry)) {
      INFO(entry.id << ": " << name);
      for (const std::string& spelling : {name, in_capitals(name), replaced(name, ' ', '-'), replaced(name, '_', ' '),
                                          replaced(name, '-', '_'), replaced(name, ' ', '/'), " " + name + " "}) {
        INFO(spelling);
        const Of* found = entries.named(spelling);
        REQUIRE(found != nullptr);
        CHECK(found->id == entry.id);
      }
      const std::string owner = owners.emplace(sim::plain_name(name), entry.id).first->second;
      CHECK(owner == entry.id);
    }
}

// If a name has one character more, fewer, or changed, it refers to the same entry or to none.
template <typename Of>
void check_mutations(const sim::Entries<Of>& entries) {
  std::set<std::string> known;
  for (const Of& entry : entries)
    for (const std::string& name : names_of(entry)) known.insert(sim::plain_name(name));
  for (const Of& entry : entries)
    for (const std::string& name : names_of(entry))
      for (const std::string& mutated :
           {name + "0", name + "Z", "X" + name, "1" + name, name + "," + entry.id, name + "+", name.substr(1)}) {
        INFO(mutated);
        CHECK((entries.named(mutated) != nullptr) == (known.count(sim::plain_name(mutated)) > 0));
      }
}

template <typename Of>
std::string id_of(const sim::Entries<Of>& entries, const std::string& name) {
  const Of* found = entries.named(name);
  return found == nullptr ? "none" : found->id;
}

}  // namespace

TEST_CASE("a name has one spelling, case, blanks and separators aside") {
  CHECK(sim::plain_name("ResNet-50") == "resnet50");
  CHECK(sim::plain_name("  resnet_50 ") == "resnet50");
  CHECK(sim::plain_name("ViT-B/16") == "vitb16");
  CHECK(sim::plain_name("K80 (one die)") == "k80onedie");
  // Separate digits stay separate: 1.3 billion is not 13.
  CHECK(sim::plain_name("GPT-3 1.3B") == "gpt3_1_3b");
  CHECK(sim::plain_name("GPT-3 13B") == "gpt3_13b");
  CHECK(sim::plain_name("P4 0") != sim::plain_name("P40"));
  CHECK(sim::plain_name("H100,A100") == "h100,a100");
  CHECK(sim::plain_name(" -_/") == "");
}

TEST_CASE("the edit distance is a metric that counts characters") {
  CHECK(edit_distance("kitten", "sitting") == 3);
  CHECK(edit_distance("h100", "h1000") == 1);
  CHECK(edit_distance("", "abc") == 3);
  const std::vector<std::string> words{"", "a100", "h100", "h200", "vitb16", "vitb32", "resnet50", "resnet500"};
  for (const std::string& a : words)
    for (const std::string& b : words) {
      CHECK(edit_distance(a, b) == edit_distance(b, a));
      CHECK((edit_distance(a, b) == 0) == (a == b));
      for (const std::string& c : words) CHECK(edit_distance(a, c) <= edit_distance(a, b) + edit_distance(b, c));
    }
}

TEST_CASE("the nearest names come first, each entry once") {
  sim::NameIndex index;
  CHECK_FALSE(index.add("H100", 0));
  CHECK_FALSE(index.add("H100 SXM5", 0));
  CHECK_FALSE(index.add("H200", 1));
  CHECK_FALSE(index.add("V100", 2));
  CHECK_FALSE(index.add("K80", 3));
  CHECK_FALSE(index.add("h-100", 0));  // again
  CHECK(index.add("h 100", 1) == std::optional<std::size_t>(0));
  CHECK(index.nearest("H1000", 3) == std::vector<std::size_t>{0, 1});
  CHECK(index.nearest("H20", 1) == std::vector<std::size_t>{1});
  CHECK(index.nearest("V100", 9) == std::vector<std::size_t>{2, 0});  // a slip of the pen from H100
  CHECK(index.find("H100 sxm5") == std::optional<std::size_t>(0));
  CHECK_FALSE(index.find(""));
  CHECK(index.nearest(std::string(100000, 'x'), 3).empty());
}

TEST_CASE("a name's family is its first letters, without NVIDIA's names before a GPU's") {
  CHECK(sim::name_family("Phi-3") == "phi");
  CHECK(sim::name_family("MI300X") == "mi");
  CHECK(sim::name_family("NVIDIA GeForce RTX 5090") == "rtx");
  CHECK(sim::name_family("  HGX B300-SXM") == "b");
  CHECK(sim::name_family("AMD Instinct MI300X") == "amd");
  CHECK(sim::name_family("NVIDIA") == "nvidia");
  CHECK(sim::name_family("3090") == "");
  CHECK(sim::name_family("") == "");
}

TEST_CASE("who misnames a model or GPU is shown its family, or nothing") {
  const auto families = [](const std::vector<std::string>& ids) {
    std::set<std::string> all;
    for (const std::string& id : ids) all.insert(sim::name_family(id));
    return all;
  };
  const auto models = [&](const char* name) { return families(catalogue().models.nearest_ids(name)); };
  CHECK(models("Phi-3") == std::set<std::string>{"phi"});
  CHECK(models("Llama 3.9 8B") == std::set<std::string>{"llama"});
  CHECK(models("DeepSeek-V4") == std::set<std::string>{"deepseek"});
  CHECK(models("resnte50") == std::set<std::string>{"resnet"});
  CHECK(models("CLIP RN50x64").count("resnet") == 0);
  CHECK(models("CLIP ViT-L/14").count("vit") == 0);
  const auto gpus = [&](const char* name) { return families(catalogue().gpus.nearest_ids(name)); };
  CHECK(gpus("RTX 5070") == std::set<std::string>{"rtx"});
  CHECK(gpus("V1000") == std::set<std::string>{"v"});
  CHECK(gpus("TPU v5e").empty());
  CHECK(gpus("Intel Gaudi 2").empty());
  for (const char* name : {"MI308X", "AMD Instinct MI308X", "AMD Instinct MI100"})
    CHECK(gpus(name) == std::set<std::string>{"mi"});
}

TEST_CASE("MLPerf's names of models are known") {
  for (const auto& [name, id] : std::map<std::string, std::string>{{"llama31_8b", "llama3_1_8b"},
                                                                   {"llama31_405b", "llama3_1_405b"},
                                                                   {"gpt_oss_20b", "gpt_oss_20b"},
                                                                   {"deepseekv3_671b", "deepseek_v3"}})
    CHECK(id_of(catalogue().models, name) == id);
}

TEST_CASE("every name of the catalogue is that of its entry alone") {
  check_names(catalogue().gpus);
  check_names(catalogue().intra_nodes);
  check_names(catalogue().networks);
  check_names(catalogue().stacks);
  check_names(catalogue().models);
}

TEST_CASE("software that has another's constants names software of the catalogue, which has its own") {
  for (const sim::StackEntry& stack : catalogue().stacks) {
    if (stack.constants_of.empty()) continue;
    INFO(stack.id);
    const sim::StackEntry* const other = catalogue().stacks.named(stack.constants_of);
    REQUIRE(other != nullptr);
    CHECK(other->constants_of.empty());
  }
}

TEST_CASE("a mutated name is none") {
  check_mutations(catalogue().gpus);
  check_mutations(catalogue().intra_nodes);
  check_mutations(catalogue().networks);
  check_mutations(catalogue().stacks);
  check_mutations(catalogue().models);
  for (const char* name : {"H1000", "H900", "XH100Z", "H100,A100", "H100 A100", "8x H100", "8xH100", "TITAN Xp",
                           "RTX 9000", "V100T", "100", "GPU", ""}) {
    INFO(name);
    CHECK(id_of(catalogue().gpus, name) == "none");
  }
  for (const char* name : {"vit_b32", "bert_large_1024", "bert_large_256", "resnet", "resnet500", "resnet50x",
                           "ResNet-50 (CIFAR-10)", "gpt3", "GPT-3 176B", "gpt3_3b", "opt 1.4b"}) {
    INFO(name);
    CHECK(id_of(catalogue().models, name) == "none");
  }
}

TEST_CASE("names that used to be another's, or none, are what they say") {
  constexpr double kMebi = 1024 * 1024;
  for (const char* id : {"resnet50_v15", "alexnet_tf", "googlenet_noaux", "gpt3_1b3", "gpt3_2b7", "gpt3_6b7",
                         "megatron_1b2", "megatron_8b3"})
    CHECK(id_of(catalogue().models, id) == id);
  CHECK(id_of(catalogue().gpus, "gtx-titan") == "gtx-titan");
  CHECK(catalogue().gpus.named("a100-sxm4-40")->spec.memory_bytes == 40780 * kMebi);
  CHECK(catalogue().gpus.named("A100 80GB")->spec.memory_bytes == 81560 * kMebi);
  CHECK(catalogue().gpus.named("V100-SXM2-32GB")->spec.memory_bytes == 32624 * kMebi);
  CHECK(catalogue().gpus.named("Tesla V100-SXM2-16GB")->spec.memory_bytes == 16312 * kMebi);
  CHECK(catalogue().gpus.named("Tesla V100-PCIE-16GB")->spec.memory_bytes == 16312 * kMebi);
  CHECK(id_of(catalogue().networks, "azure-nd-a100") == "azure-nd-a100");
  CHECK(id_of(catalogue().networks, "azure-nd-h100") == "azure-nd-h100");
}

TEST_CASE("what people write is declared") {
  const std::map<std::string, std::string> gpus{{"A100", "a100-sxm4"},
                                                {"A100-40GB", "a100-sxm4-40"},
                                                {"A100 80GB", "a100-sxm4"},
                                                {"NVIDIA A100-SXM4-80GB", "a100-sxm4"},
                                                {"NVIDIA A100 80GB PCIe", "a100-pcie"},
                                                {"H100", "h100-sxm"},
                                                {"H100 SXM", "h100-sxm"},
                                                {"H100-SXM5-80GB", "h100-sxm"},
                                                {"NVIDIA H100 80GB HBM3", "h100-sxm"},
                                                {"V100", "v100-sxm2"},
                                                {"Tesla V100-SXM2-16GB", "v100-sxm2"},
                                                {"Tesla V100-SXM2-32GB", "v100-sxm2-32"},
                                                {"NVIDIA GeForce RTX 4090", "rtx4090"},
                                                {"NVIDIA GH200 480GB", "gh200"},
                                                {"NVIDIA GH200 120GB", "gh200"},
                                                {"NVIDIA B300 SXM6 AC", "b300"},
                                                {"AMD Instinct MI300X OAM", "mi300x"},
                                                {"AMD Instinct MI325 OAM", "mi325x"}};
  for (const auto& [name, id] : gpus) CHECK(id_of(catalogue().gpus, name) == id);
  const std::map<std::string, std::string> models{{"ResNet-50", "resnet50"},
                                                  {"resnet50", "resnet50"},
                                                  {"ResNet-50 v1.5", "resnet50_v15"},
                                                  {"bert-large", "bert_large"},
                                                  {"BERT-large 512", "bert_large_512"},
                                                  {"gpt2", "gpt2"},
                                                  {"GPT-3 1.3B", "gpt3_1b3"},
                                                  {"GPT-3 13B", "gpt3_13b"},
                                                  {"ViT-B/16", "vit_b16"},
                                                  {"VGG-16", "vgg16"}};
  for (const auto& [name, id] : models) CHECK(id_of(catalogue().models, name) == id);
  CHECK(id_of(catalogue().intra_nodes, "PCIe 4.0") == "pcie4");
  CHECK(id_of(catalogue().intra_nodes, "NVLink 4") == "nvlink4");
  CHECK(id_of(catalogue().stacks, "PyTorch 2 DDP") == "pytorch");
  CHECK(id_of(catalogue().stacks, "torch") == "pytorch");
}

TEST_CASE("every model of the catalogue is a network of the zoo, under the zoo's own name") {
  std::set<std::string> ids;
  for (const sim::ModelEntry& entry : catalogue().models) {
    INFO(entry.id);
    CHECK(model::zoo_graph(entry.id).name == entry.id);
    CHECK(ids.insert(entry.id).second);
  }
  for (const std::string& name : model::zoo_names()) {
    INFO(name);
    CHECK(ids.count(name) == 1);
  }
  // The short forms of scenarios are the same networks.
  for (const char* name : {"lenet", "alexnet", "resnet32", "googlenet"})
    CHECK(id_of(catalogue().models, name) == model::zoo_graph(name).name);
}

TEST_CASE("a GPU's generation is that of a whole word of its name") {
  for (const char* name : {"H1000", "XH100Z", "RTX A1000", "TITAN X", ""}) CHECK_FALSE(sim::nccl_generation(name));
  CHECK(sim::nccl_generation("Tesla V100-SXM2-16GB") == sim::NcclGeneration::volta);
  CHECK(sim::nccl_generation("NVIDIA H100 80GB HBM3") == sim::NcclGeneration::hopper);
  for (const sim::GpuEntry& gpu : catalogue().gpus) {
    INFO(gpu.name);
    if (const auto generation = sim::nccl_generation(gpu.name)) CHECK(name_of(*generation) == gpu.generation);
  }
}

TEST_CASE("a board that differs in memory alone has the other's speeds") {
  for (const sim::GpuEntry& gpu : catalogue().gpus) {
    const sim::GpuEntry& chip = *catalogue().gpus.with_id(gpu.speed_of);
    CHECK(gpu.spec.fp32_flops == chip.spec.fp32_flops);
    CHECK(gpu.spec.fp16_flops == chip.spec.fp16_flops);
    CHECK(gpu.spec.memory_bandwidth_bytes_per_s == chip.spec.memory_bandwidth_bytes_per_s);
    CHECK(gpu.generation == chip.generation);
  }
  CHECK(catalogue().gpus.named("v100-sxm2-32")->speed_of == "v100-sxm2");
}

TEST_CASE("boards that share a speed have one chip, so one generation and precisions") {
  std::map<std::string, const sim::GpuEntry*> first_of;
  for (const sim::GpuEntry& gpu : catalogue().gpus) {
    if (gpu.chip.empty()) continue;
    INFO(gpu.id);
    const sim::GpuEntry& first = *first_of.emplace(gpu.chip, &gpu).first->second;
    CHECK(gpu.generation == first.generation);
    CHECK((gpu.spec.tf32_flops > 0) == (first.spec.tf32_flops > 0));
    CHECK((gpu.spec.fp8_flops > 0) == (first.spec.fp8_flops > 0));
    CHECK((gpu.speed_of == gpu.id || catalogue().gpus.with_id(gpu.speed_of)->chip == gpu.chip));
  }
  CHECK(first_of.size() > 1);
}

namespace {

// Returns the error of loading the catalogue with one file changed.
std::string error_with(const std::string& file, const std::string& from, const std::string& to) {
  const TemporaryFolder folder;
  for (const char* name : {"gpus", "intra_node", "networks", "stacks", "models", "loss_laws"}) {
    std::string text = read_file(LOCKSTEP_SOURCE_DIR "/scenarios/catalogue/" + std::string(name) + ".json");
    if (file == name) {
      const std::size_t at = text.find(from);
      REQUIRE(at != std::string::npos);
      text.replace(at, from.size(), to);
    }
    folder.write(std::string(name) + ".json", text);
  }
  return error_of([&] { sim::load_catalogue(folder.path("")); });
}

}  // namespace

TEST_CASE("a catalogue whose names are not clear is refused with file and pointer") {
  CHECK_THAT(error_with("gpus", "\"K20c\"", "\"k-40\""),
             Contains("gpus.json: /gpus/1/id: \"k40\" stands for \"k20m\" already; allowed: "));
  CHECK_THAT(error_with("gpus", "\"K20c\"", "\"/\""), Contains("gpus.json: /gpus/0/aliases/1: \"/\" has no letter"));
  CHECK_THAT(error_with("gpus", "\"K20c\"", "7"), Contains("gpus.json: /gpus/0/aliases/1: expected a string"));
  CHECK_THAT(error_with("gpus", "\"1x InfiniBand FDR\"", "\"a wet string\""),
             Contains("gpus.json: \"k20m\": network \"a wet string\": "));
  CHECK_THAT(error_with("gpus", "\"intra_node\": \"pcie\"", "\"intra_node\": \"pcie9\""),
             Contains("gpus.json: \"k20m\": no link \"pcie9\"; allowed: "));
  CHECK_THAT(error_with("networks", "\"needs_rate\": true", "\"needs_rate\": false"), Contains("networks.json: "));
  CHECK(error_with("models", "\"rn101\"", "\"RN-101\"") == "");
  CHECK_THAT(error_with("intra_node", "\"board_of\": \"nvlink4\"", "\"board_of\": \"pcie\""),
             Contains("intra_node.json: \"nvlink4-direct\": no NVLinks \"pcie\" with figures; allowed: "));
}

TEST_CASE("choices in words are read in any spelling, and as strictly") {
  CHECK(sim::find_choice_in_words<Fruit>("PEAR") == Fruit::pear);
  CHECK(sim::find_choice_in_words<Fruit>("Pip-pin") == Fruit::apple);
  CHECK_FALSE(sim::find_choice_in_words<Fruit>("pears"));
  CHECK_FALSE(sim::find_choice_in_words<Fruit>(""));
  CHECK_FALSE(find_choice<Fruit>("PEAR"));
  CHECK(find_choice<Fruit>("pippin") == Fruit::apple);
  CHECK_FALSE(sim::find_choice_in_words<Fruit>("p\u00e9ear"));
  CHECK(name_of(Fruit::apple) == "apple");
  CHECK_THROWS_WITH(choice_named<Fruit>("plum", "--fruit"), Contains("--fruit \"plum\"") && Contains("apple, pear"));
}

}  // namespace lockstep::tests
