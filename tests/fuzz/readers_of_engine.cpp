// Lists readers of models, configurations, profiles, samples, checkpoints, data and sweeps.
#include "calib/profile.hpp"
#include "engine/base/provenance.hpp"
#include "engine/base/study.hpp"
#include "engine/data/cifar.hpp"
#include "engine/data/idx.hpp"
#include "engine/data/jpeg.hpp"
#include "engine/model/graph.hpp"
#include "engine/model/zoo/zoo.hpp"
#include "engine/sweep/sweep.hpp"
#include "engine/sync/host_vector_ops.hpp"
#include "engine/train/checkpoint.hpp"
#include "engine/train/curves.hpp"
#include "engine/train/tuning.hpp"
#include "engine/train/weights.hpp"
#include "tests/base/temporary_folder.hpp"
#include "tests/fuzz/reader.hpp"

namespace lockstep::fuzz {
namespace {

constexpr const char* kFile = "input.json";

const TemporaryFolder& folder() {
  static const TemporaryFolder one;
  return one;
}

JsonDocument parsed(const std::string& text) {
  return JsonDocument::parse(text, kFile);
}

Json model(const std::string& text) {
  const JsonDocument document = parsed(text);
  return to_json(model::graph_from_json(document.root()));
}

Json huggingface(const std::string& text) {
  const JsonDocument document = parsed(text);
  return to_json(model::model_from_json(document.root()));
}

Json profile(const std::string& text) {
  const JsonDocument document = parsed(text);
  const calib::Profile profile = calib::profile_from_json(document.root());
  report_text(profile);
  return to_json(merge(profile, profile, "merged"));
}

Json samples(const std::string& text) {
  const std::string path = folder().write("samples.jsonl", text);
  calib::Profile profile;
  profile.name = "fuzzed";
  profile.samples = calib::read_samples(path);
  profile.fits = calib::fit_curves(profile.samples);
  return to_json(profile);
}

// A mutated body has another checksum. The first line is updated, so that the rest of the file is tested, too.
Json checkpoint(const std::string& content) {
  const std::size_t header = std::min(content.find('\n'), content.size());
  const std::string body = content.substr(0, header) + content.substr(std::min(header + 1, content.size()));
  const std::string first = "lockstep/checkpoint/1 " + std::to_string(header) + " " + sha256_hex(body) + "\n";
  const std::string path = folder().write("checkpoint", first + body);
  const train::Checkpoint read(path);
  sync::HostVectorOps ops;
  train::StateReader reader(path, read.state(0), ops);
  std::vector<float> shared(4);
  std::int64_t counter = 0;
  double seconds = 0;
  reader.floats("shared", shared);
  reader.integer("counter", counter);
  reader.real("seconds", seconds);
  return seconds;
}

model::Graph normed_and_dense() {
  model::Window three_by_three;
  three_by_three.kernel_h = three_by_three.kernel_w = 3;
  model::GraphBuilder builder("small", "small", {1, 4, 4});
  const int norm = builder.batch_norm("norm", builder.conv("conv", 0, 2, three_by_three, false));
  builder.softmax("loss", builder.fc("fc", norm, 3));
  return builder.finish();
}

// The length before a header on a line of its own is updated, so that the rest is tested, too.
Json weights(const std::string& content) {
  static const model::Graph graph = normed_and_dense();
  const std::size_t end = content.find('\n');
  std::string length;
  for (std::size_t i = 0; i < 8 && end != std::string::npos; ++i) length += static_cast<char>(end >> (8 * i) & 0xFF);
  std::string whole = length + content;
  if (end != std::string::npos) whole.erase(8 + end, 1);
  const train::Weights read = train::read_safetensors(folder().write("weights.safetensors", whole), graph);
  return {read.parameters.size(), read.running_statistics.size()};
}

Json curve(const std::string& text) {
  const train::RunCurve run = train::read_curve(folder().write("run.json", text));
  const std::string rows = train::curves_csv({run});
  if (rows.find("inf") != std::string::npos) throw std::logic_error("a row is not finite");
  if (run.points.empty()) return run.started_utc;
  const std::string picture = train::curves_svg({run}, train::Over::epochs);
  if (picture.find("nan") != std::string::npos || picture.find("inf") != std::string::npos)
    throw std::logic_error("a point of the picture is not finite");
  return train::curve_events(run).size();
}

Json idx(const std::string& content) {
  return data::parse_idx(content, kFile).dimensions;
}

Json cifar(const std::string& content) {
  return data::parse_cifar(content, kFile).labels;
}

Json jpeg(const std::string& content) {
  data::JpegImage image(content, kFile);
  std::vector<std::uint8_t> planes(3 * 16 * 16);
  image.decode({image.width() / 3, image.height() / 4, (image.width() + 1) / 2, (image.height() + 1) / 2}, 16, 16, true,
               planes.data());
  return planes;
}

Json sweep(const std::string& text) {
  const std::string path = folder().write("sweep.json", text);
  const sweep::Sweep read = sweep::load_sweep(path, {"/tmp", 1});
  Json rates = Json::array();
  for (const sweep::Cell& cell : read.cells) rates.push_back(cell.rates);
  return rates;
}

Json study(const std::string& text) {
  Json left = Json::array();
  for (const StudyLine& line : load_study(folder().write("study.jsonl", text))) left.push_back(line.document.json());
  return left;
}

Json tuned_run(const std::string& text) {
  Json all = Json::array();
  for (const train::TuningDecision& decision : train::decisions_of_record(folder().write("run.json", text), 2))
    all.push_back(to_json(decision));
  return all;
}

std::string own(const std::string& name) {
  return "tests/fuzz/corpus/" + name;
}

}  // namespace

std::vector<Reader> readers_of_engine() {
  std::vector<Reader> readers{
      {"model", model, kFile, {"scenarios/models/example_cnn.json", "scenarios/models/resnet8_28.json"}},
      {"huggingface",
       huggingface,
       kFile,
       {"scenarios/models/llama3_8b/config.json", own("llama_config.json"), own("deepseek_v3_config.json"),
        own("bert_config.json"), own("vit_config.json")}},
      {"profile", profile, kFile, {own("profile.json")}},
      {"sample-log", samples, folder().path("samples.jsonl"), {own("samples.jsonl")}},
      {"checkpoint", checkpoint, folder().path("checkpoint"), {own("checkpoint.body")}},
      {"weights", weights, folder().path("weights.safetensors"), {own("weights.header"), own("weights.half.header")}},
      {"curve",
       curve,
       folder().path("run.json"),
       {own("run.json"), "results/training/2026-11-21/sma-2.json", "results/training/2026-11-21/ssgd.json"}},
      {"idx", idx, kFile, {own("images.idx")}},
      {"cifar", cifar, kFile, {own("cifar.bin")}},
      {"sweep", sweep, folder().path("sweep.json"), {own("sweep.json")}},
      {"tuned-run", tuned_run, folder().path("run.json"), {own("tuned_run.json")}},
      {"study", study, folder().path("study.jsonl"), {own("study.jsonl")}},
  };
  if (data::has_jpeg())
    readers.push_back({"jpeg", jpeg, kFile, {own("colour.jpg"), own("progressive.jpg"), own("cmyk.jpg")}});
  return readers;
}

}  // namespace lockstep::fuzz
