// Compares loss with tokens, days and dollars: with the law alone, and with jobs on GPUs.
#include "sim/loss_curve/loss_question.hpp"

#include <cmath>
#include <set>

#include "sim/job_prediction/job_loss.hpp"
#include "sim/job_prediction/job_prediction.hpp"
#include "sim/kernel/kernel_files.hpp"
#include "tests/catch.hpp"

namespace lockstep::sim {
namespace {

const Catalogue& shipped_catalogue() {
  static const Catalogue all = load_catalogue(default_catalogue_folder());
  return all;
}

LossQuestion question_on(const char* gpu, std::vector<int> gpus) {
  LossQuestion q;
  q.job.job.model.stated = "llama3_8b";
  q.job.job.gpu.stated = gpu;
  q.job.gpus = std::move(gpus);
  return q;
}

LossAnswer answer_to(const LossQuestion& question) {
  return answer_loss(question, shipped_catalogue(), 2);
}

}  // namespace

TEST_CASE("the best size for Chinchilla's operations is Chinchilla's") {
  // Hoffmann et al. 2022 trained 70B parameters on 1.4T tokens.
  LossQuestion q;
  q.flops = {5.76e23};
  const LossRow row = answer_to(q).rows.front();
  CHECK(row.parameters == Approx(70e9).epsilon(0.1));
  CHECK(row.tokens.middle == Approx(1.4e12).epsilon(0.1));
}

TEST_CASE("a row's time is its tokens over its job's rate") {
  LossQuestion q = question_on("H100", {64});
  q.losses = {2.2};
  q.batch_tokens = {1 << 22};
  q.job.usd_per_gpu_hour = 2;
  const LossRow row = answer_to(q).rows.front();
  JobQuestion job = q.job;
  job.job.global_batch = 512;  // sequences of 8,192 tokens
  job.loss = 2.2;
  const JobPrediction predicted = predict_job(job, shipped_catalogue(), 1);
  const double rate = predicted.rows.front().samples_per_s.predicted * 8192;
  CHECK(row.tokens_per_s.middle == Approx(rate).epsilon(1e-9));
  const BoundedValue tokens =
      tokens_to_loss(predicted.rows.front().samples_per_s.task.target.front().scenario, 64, 512);
  CHECK(row.tokens.middle == Approx(tokens.middle).epsilon(1e-9));
  CHECK(row.seconds.middle == Approx(tokens.middle / rate).epsilon(1e-9));
  CHECK(row.usd == Approx(row.seconds.middle / 3600 * 64 * 2).epsilon(1e-9));
  CHECK(row.seconds.low < row.seconds.middle);
  CHECK(row.seconds.high > row.seconds.middle);
}

TEST_CASE("calendar time and cost of a loss are those of simulate job, and a budget pays for as many tokens") {
  LossQuestion q = question_on("H100", {256});
  q.tokens = {1e12};
  q.batch_tokens = {1 << 22};
  q.job.usd_per_gpu_hour = 2;
  const LossRow row = answer_to(q).rows.front();
  JobQuestion job = q.job;
  job.job.global_batch = 512;
  job.tokens = 1e12;
  const Json of_job = job_json(predict_job(job, shipped_catalogue(), 1), shipped_catalogue()).at("tokens").front();
  REQUIRE(row.calendar_s);  // a job counts whole iterations
  CHECK(row.calendar_s->middle == Approx(of_job.at("calendar_s").get<double>()).epsilon(1e-5));
  CHECK(row.calendar_s->low == Approx(of_job.at("calendar_s_low").get<double>()).epsilon(1e-5));
  CHECK(row.calendar_s->high == Approx(of_job.at("calendar_s_high").get<double>()).epsilon(1e-5));
  CHECK(row.usd == Approx(row.calendar_s->middle / 3600 * 256 * 2).epsilon(1e-9));
  LossQuestion paid = q;
  paid.tokens.clear();
  paid.budget_usd = row.usd;
  const LossRow bought = answer_to(paid).rows.front();
  CHECK(bought.tokens.middle == Approx(1e12).epsilon(1e-9));
  CHECK(bought.usd == Approx(row.usd).epsilon(1e-9));
  q.job.is_undisturbed = true;
  CHECK_FALSE(answer_to(q).rows.front().calendar_s);
}

TEST_CASE("twice the budget never raises the least loss, and a deadline never lowers it") {
  LossQuestion q = question_on("H100", {64, 256});
  q.batch_tokens = {1 << 21, 1 << 23};
  q.job.usd_per_gpu_hour = 2;
  double before = INFINITY;
  for (const double budget : {1e4, 2e4, 4e4}) {
    q.budget_usd = budget;
    const double loss = answer_to(q).rows.front().loss.middle;
    CHECK(loss < before);
    before = loss;
  }
  q.deadline_s = 3600;
  CHECK(answer_to(q).rows.front().loss.middle > before);
}

TEST_CASE("a frontier has no row that another one beats in time and cost") {
  LossQuestion q = question_on("H100", {64, 256, 1024});
  q.losses = {2.3};
  q.job.usd_per_gpu_hour = 2;
  const LossAnswer answer = answer_to(q);
  int frontier = 0;
  for (const LossRow& row : answer.rows) {
    if (!row.is_on_frontier) continue;
    ++frontier;
    for (const LossRow& other : answer.rows)
      if (other.refused.empty()) CHECK_FALSE((other.paid_s().middle < row.paid_s().middle && other.usd < row.usd));
  }
  CHECK(frontier >= 1);
  CHECK(answer.rows.front().is_on_frontier);
}

TEST_CASE("sizes that do not reach the loss are refused, the others answer") {
  LossQuestion q;
  q.model_family = "llama3";
  q.losses = {1.95};
  const LossAnswer answer = answer_to(q);
  CHECK(answer.rows.front().refused.empty());
  CHECK_FALSE(answer.rows.back().refused.empty());
  CHECK(loss_json(answer).at("rows").back().at("status") == "refused");
}

TEST_CASE("no answer has a loss above that of an untrained model") {
  LossQuestion q;
  q.job.job.model.stated = "llama3_8b";
  const double untrained = std::log(128256);
  bool is_refused = true;  // with few tokens, then no more
  for (double tokens = 1e9; tokens >= 1; tokens /= 10) {
    q.tokens = {1e12, tokens};
    for (const LossRow& row : answer_to(q).rows) {
      if (row.refused.empty()) CHECK(row.loss.high <= untrained);
      if (!row.refused.empty()) CHECK_THAT(row.refused, Contains("128,256") && Contains("more tokens"));
      is_refused = !row.refused.empty();
    }
  }
  CHECK(is_refused);
  q.tokens = {1};
  CHECK_THROWS_WITH(answer_to(q), Contains("11.76 nats"));
  q.tokens.clear();
  q.losses = {15};
  CHECK_THROWS_WITH(answer_to(q), Contains("a lower loss"));
  LossQuestion sizes;
  sizes.flops = {1e3};
  CHECK_THROWS_WITH(answer_to(sizes), Contains("more tokens"));
  // A job answers without the loss.
  JobQuestion job = question_on("H100", {8}).job;
  job.job.global_batch = 8;
  for (const double tokens : {1.0, 1e12}) {
    job.tokens = tokens;
    const JobPrediction predicted = predict_job(job, shipped_catalogue(), 1);
    CHECK(job_json(predicted, shipped_catalogue()).at("tokens").front().contains("loss") == (tokens > 1));
    CHECK_THAT(job_loss_text(predicted), Contains(tokens > 1 ? "nats per token" : "more --tokens"));
  }
  job.tokens = 0;
  job.loss = 15;
  CHECK_THROWS_WITH(predict_job(job, shipped_catalogue(), 1), Contains("--loss 15"));
}

TEST_CASE("a question that is incomplete says what is missing") {
  LossQuestion q;
  CHECK_THROWS_WITH(answer_to(q), Contains("--model, --model-family or --parameters"));
  q.parameters = 8e9;
  CHECK_THROWS_WITH(answer_to(q), Contains("--loss, --tokens, --flops"));
  q.tokens = {1e12};
  q.job.gpus = {8};
  CHECK_THROWS_WITH(answer_to(q), Contains("no GPU is given"));
  q.job.job.gpu.stated = "H100";
  CHECK_THROWS_WITH(answer_to(q), Contains("no rate on a GPU"));
  LossQuestion bert;
  bert.job.job.model.stated = "bert_large";
  bert.losses = {2};
  CHECK_THROWS_WITH(answer_to(bert), Contains("does not predict the next token"));
  LossQuestion tuned = question_on("H100", {8});
  tuned.losses = {2.2};
  tuned.job.job.split.task = "lora";
  CHECK_THROWS_WITH(answer_to(tuned), Contains("fine-tuning has no law of the loss; allowed: simulate job with"));
  LossQuestion unknown = question_on("H100", {8});
  unknown.losses = {2.2};
  unknown.job.loss_law = "nobody";
  CHECK_THROWS_WITH(answer_to(unknown), Contains("chinchilla, step_law"));
}

TEST_CASE("a measured critical batch replaces the law's") {
  LossQuestion q;
  q.parameters = 8e9;
  q.losses = {2.2};
  q.batch_tokens = {2e6};
  q.job.critical_batch_tokens = 2e6;
  const LossRow row = answer_to(q).rows.front();
  CHECK(row.critical_batch_tokens == Approx(2e6));
  q.batch_tokens = {1};
  CHECK(row.tokens.middle == Approx(2 * answer_to(q).rows.front().tokens.middle).epsilon(1e-6));
}

TEST_CASE("batches in tokens are whole sequences, and powers of two of them where one is near") {
  LossQuestion q = question_on("H100", {64});
  q.losses = {2.2};
  q.batch_tokens = {4e6, 3e6};
  std::set<double> batches;
  for (const LossRow& row : answer_to(q).rows) batches.insert(row.batch_tokens);
  CHECK(batches == std::set<double>{366 * 8192, 512 * 8192});
}

TEST_CASE("a chart has a line for each batch, in order") {
  LossQuestion q;
  q.parameters = 8e9;
  q.tokens = {1e12};
  q.batch_tokens = {1e6, 1.6e7};
  const std::string svg = loss_svg(answer_to(q));
  CHECK_THAT(svg, Contains("<svg") && Contains("batch 1M") && Contains("batch 16M") && Contains("tokens</text>"));
}

}  // namespace lockstep::sim
