#pragma once
// The final loss of a language model's training, from its log or TensorBoard file: loss, tokens, batch and parameters.
//
// The loss is the last evaluation, if one was made in the last 5 % of the steps. Otherwise it is the mean of the training
// losses of the last 1 % of the steps. If these are fewer than ten, it takes more, up to the last 5 % of the steps, and at
// least the last one. Losses before the end are no losses of shorter trainings, because their learning rate had not
// decayed yet.
#include <cstdint>
#include <string>
#include <vector>

#include "engine/base/json.hpp"

namespace lockstep::calib {

struct LoggedLoss {
  std::int64_t step = 0;     ///< 0: not logged, or before the first
  double loss = 0;           ///< NaN: the log has no number between 0 and 20 nats
  double learning_rate = 0;  ///< 0: not logged
  double epoch = 0;          ///< 0: not logged
  double place = 0;          ///< share of the training's steps, or of its epochs if no step is known
};

struct LossLog {
  std::string file;
  double parameters = 0;    ///< 0: not known
  double tokens = 0;        ///< until the last step; 0: not known
  double batch_tokens = 0;  ///< per step; 0: not known
  double loss = 0;          ///< nats per token
  std::string loss_source;  ///< "evaluation at step 2000"
  std::vector<std::string> said;
};

/// Facts of a run that replace those of its log.
struct LossFacts {
  double parameters = 0, tokens = 0, batch_tokens = 0;  ///< 0: not given
};

/// Reads a log of Megatron-LM, NeMo, torchtitan, HuggingFace's Trainer, nanoGPT, llm.c or nanotron, a Trainer's state,
/// or an event file. Throws InputError if it has no loss, if its last loss is no number, or if neither it nor the facts
/// say parameters and tokens.
LossLog read_loss_log(const std::string& path, const LossFacts& facts);

}  // namespace lockstep::calib
