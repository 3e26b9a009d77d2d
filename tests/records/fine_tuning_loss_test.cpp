// Fine-tuning has no law of the loss: its tokens are given, and the answer says that no loss is predicted.
#include "sim/job_prediction/job_loss.hpp"
#include "tests/catch.hpp"
#include "tests/records/small_job.hpp"

namespace lockstep::tests {

TEST_CASE("fine-tuning takes tokens, says that no loss is predicted, and refuses a loss as a target", "[job]") {
  for (const std::string task : {"lora", "sft"}) {
    INFO(task);
    sim::JobQuestion question;
    question.job.model.stated = "llama3_8b";
    question.job.gpu.stated = "H100";
    question.job.split.task = task;
    question.gpus = {8};
    question.tokens = 1e7;
    const sim::JobPrediction predicted = sim::predict_job(question, catalogue(), 1);
    CHECK_FALSE(predicted.loss);
    CHECK_THAT(sim::job_loss_text(predicted), Contains("The loss is not predicted") && Contains("not of fine-tuning"));
    question.tokens = 0;
    question.loss = 2;
    CHECK_THAT(why_refused(question), Contains("fine-tuning has no law of the loss; allowed: --tokens or --samples"));
  }
}

}  // namespace lockstep::tests
