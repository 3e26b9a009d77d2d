// Shows the prediction of the controls' job: a sentence, the main figures, parts of an iteration, memory, inputs.
'use strict';

const GIB = 2 ** 30;
const gib = bytes => fixed(bytes / GIB, bytes < 10 * GIB ? 2 : 1) + SPACE + 'GiB';

// Finds a prediction, such as "images_per_s", by its metric and number of GPUs.
function quantity(answer, metric, gpus) {
  return answer.predictions.find(one => one.gpus === gpus && one.metric === metric);
}

// Returns all numbers of a job's answer that are shown, at its largest number of GPUs.
function summaryOf(answer, options) {
  const gpus = Math.max(...answer.predictions.map(one => one.gpus));
  const samples = quantity(answer, 'images_per_s', gpus), epochs = quantity(answer, 'training_time_s', gpus);
  const tokens = (answer.tokens || []).find(row => row.gpus === gpus);
  const split = answer.splits && answer.splits.find(row => row.gpus === gpus);
  const parallel = split && split.splits[0].parallel;
  const given = options.global_batch || (parallel ? parallel.global_batch : options.batch && options.batch * gpus);
  const bounds = one => one && {value: one.predicted, low: one.low, high: one.high};
  const range = key => tokens && isNumber(tokens[key]) ? {value: tokens[key], low: tokens[key + '_low'], high: tokens[key + '_high']} : undefined;
  const training = range('training_s') || bounds(epochs);
  const hours = training && scaled(training, gpus / 3600);
  return {
    gpus, samples: bounds(samples), isSequences: !!tokens, tokensPerS: range('tokens_per_s'), mfu: tokens && tokens.mfu, flops: tokens && tokens.model_flops_per_gpu,
    trained: tokens && isNumber(tokens.batch_tokens) ? {batch: tokens.batch_tokens, tokens: tokens.trained_tokens, sequence: tokens.sequence_tokens} : undefined, lossLaw: tokens && tokens.loss_law,
    training, calendar: range('calendar_s'), hours, interruptions: tokens && tokens.interruptions,
    usd: options.price && hours ? scaled(hours, options.price) : undefined,
    iteration: given && samples ? {value: given / samples.predicted, low: given / samples.high, high: given / samples.low} : undefined,
    efficiency: bounds(quantity(answer, 'scaling_efficiency', gpus)), memory: samples && samples.memory, split,
    assumptions: samples ? samples.assumptions : [], read: answer.read,
  };
}

const scaled = (range, factor) => ({value: range.value * factor, low: range.low * factor, high: range.high * factor});

function leadSentence(options, summary) {
  const job = jobTitle(options, summary.read);
  const work = options.tokens ? `${options.tokens} tokens` : options.epochs ? `${options.epochs} epochs` : '';
  const long = summary.calendar || summary.training;
  if (work && long) {
    const lasting = `${job} trains ${work} in ${duration(long.value)} (${boundsText(duration, long.low, long.high)})`;
    return lasting + (summary.usd ? `, for ${format.count(summary.usd.value)} USD.` : '.');
  }
  const rate = summary.tokensPerS ? `${format.short(summary.tokensPerS.value)} tokens/s` : `${format.short(summary.samples.value)} images/s`;
  return `${job} trains ${rate}.`;
}

function inputsText(summary) {
  return `Rests on ${plural(summary.assumptions.length, 'input')}: ${kindsText(summary.assumptions)}. See “What the prediction rests on”.`;
}

const inputOf = (summary, pointer) => {
  const found = summary.assumptions.find(input => input.pointer === pointer);
  return found && `${found.pointer} ${found.value} (${found.kind}: ${found.source}). `;
};

function tile(name, range, show, source, note) {
  if (!range) return null;
  const one = typeof range === 'number' ? {value: range} : range;
  return h('div', {class: 'tile'}, h('dt', {}, name), h('dd', {},
    h('span', {class: 'figure'}, sourced(show(one.value), source)),
    isNumber(one.low) && h('span', {class: 'bounds'}, boundsText(show, one.low, one.high)), intervalBar(one.low, one.value, one.high),
    note && h('span', {class: 'bounds'}, note)));
}

const rate = unit => value => format.short(value) + SPACE + unit;

function showPicture(options, summary, published) {
  const inputs = inputsText(summary);
  const peak = ['fp8', 'bf16', 'fp16'].map(kind => inputOf(summary, 'gpu: peak/' + kind)).find(Boolean) || '';
  const batch = options.global_batch || (options.batch && options.batch * summary.gpus);
  const interval = '80 % interval, calibrated on published results. ';
  document.getElementById('picture').replaceChildren(h('dl', {class: 'tiles'}, [
    tile('An iteration', summary.iteration, duration, interval + inputs, batch && `${format.count(batch)} samples`),
    summary.tokensPerS ? tile('Throughput', summary.tokensPerS, rate('tokens/s'), interval + inputs)
                       : tile('Throughput', summary.samples, rate('images/s'), interval + inputs),
    tile('MFU', summary.mfu, format.percent, `Model FLOP/s over the GPU’s peak. ${peak}`, isNumber(summary.flops) ? `${fixed(summary.flops / 1e12, 1)} TFLOP/s per GPU` : ''),
    tile('Scaling efficiency', !isNumber(summary.mfu) && summary.efficiency, format.percent, 'Throughput per GPU over that of one GPU, or of the smallest number. ' + inputs),
    tile('Memory of a GPU', summary.memory && summary.memory.bytes, gib, 'Counted part by part. ' + (inputOf(summary, 'gpu: memory') || ''),
         summary.memory && `of ${gib(summary.memory.capacity_bytes)}`),
    tile('Training', summary.training, duration, interval + inputs, summary.hours && `${format.count(summary.hours.value)} GPU hours`),
    tile('On the calendar', summary.calendar, duration, 'With interruptions, restarts and checkpoints, at published rates of failures.',
         isNumber(summary.interruptions) && plural(Math.round(summary.interruptions), 'interruption')),
    tile('Cost', summary.usd, format.money, `At ${options.price} USD per GPU-hour, as you gave it.`),
  ].filter(Boolean)), publishedLine(summary, published), splitLine(summary));
}

// Compares the prediction with a training's published value.
function publishedLine(summary, preset) {
  if (!preset || !preset.published || !summary.training) return '';
  const {value, unit, source} = preset.published;
  const ours = unit === 'h' ? summary.hours.value : unit === 'days' ? summary.training.value / 86400 : summary.training.value;
  const assumed = Object.entries(preset.published.assumed).map(([key, why]) => `${labelOf(key)}: ${why}`).join('; ');
  return h('p', {class: 'published'}, 'Published: ', h('strong', {}, `${format.number(value)} ${unit === 'h' ? 'GPU hours' : unit}`),
    ` (${source}). The prediction is ${format.change(ours / value - 1)} from it.`, assumed && ` Not published or assumed: ${assumed}.`);
}

function splitLine(summary) {
  if (!summary.split) return '';
  const best = summary.split.splits[0];
  return h('p', {class: 'note-line'}, `Split: ${best.text}, the fastest of ${format.count(summary.split.fitting)} that fit.`);
}

// ---- where the time goes ----

const part = (name, look, value, source) => ({name, look, value, source});

// Parts of one iteration; they add up to its mean time.
function timeParts(point) {
  const split = point.details && point.details.split, total = point.iteration_s.mean;
  const parts = [part('Compute', 0, point.compute_s, 'Forward and backward passes and the update')];
  if (split) {
    parts.push(
      part('Tensor exchange', 1, split.tensor_s, 'All-reduces or all-gathers of tensor ranks that passes wait for'),
      part('Context exchange', 2, split.context_s, 'Keys and values between context ranks that passes wait for'),
      part('Expert exchange', 3, split.expert_s, 'All-to-alls of tokens that passes wait for'),
      part('Sharded weights', 4, split.sharding_s, 'Weights gathered and gradients scattered that passes wait for'),
      part('Pipeline bubble', 5, split.bubble_fraction * split.pipeline_s, 'Stages wait for each other'),
      part('Exchange between replicas', 6, split.exposed_exchange_s, 'Gradients behind the last pass and weights before the first'));
  } else {
    parts.push(part('Exchange not overlapped', 6, point.exposed_communication_s, 'Gradients behind the last backward pass'),
               part('Waiting for input', 3, point.input_wait_s, 'Files are read and decoded more slowly than the GPUs train'));
  }
  const rest = total - parts.reduce((sum, {value}) => sum + value, 0);
  if (rest > 1e-3 * total) parts.push(part('Other', 7, rest));
  return parts;
}

function showSection(id, ...children) {
  const section = document.getElementById(id);
  section.hidden = children.length === 0;
  section.lastElementChild.replaceChildren(...children.filter(Boolean));
}

function showTime(point) {
  const total = point.iteration_s.mean;
  showSection('time', stackedBar('An iteration of ' + duration(total), timeParts(point), total, duration,
    `${duration(total)} an iteration, predicted ${point.simulation.method === 'closed form' ? 'in closed form' : 'by ' + point.simulation.method}.`));
}

// Tooltips with the source of each part of the memory.
const MEMORY_SOURCES = {
  weights: 'Parameters of this rank’s layers, at the precision of the passes', gradients: 'As many as weights, at the precision of their exchange',
  master_weights: 'Single precision, divided by the sharding', optimizer_state: 'Of the optimizer, divided by the sharding',
  activations: 'Kept from forward to backward passes, by the model’s layers, micro-batches in flight and recomputation', communication: 'Buckets of collectives',
  workspace: 'Temporary tensors of the largest layer', margin: 'Blocks that the allocator cannot use', reserved: 'Context of the driver, libraries of collectives',
};
const MEMORY_NAMES = {weights: 'Weights', gradients: 'Gradients', master_weights: 'Master weights', optimizer_state: 'Optimizer state', averages: 'Averages',
                      activations: 'Activations', input: 'Input', communication: 'Buffers of collectives', workspace: 'Workspace', margin: 'Fragmentation',
                      reserved: 'Driver and libraries'};

function showMemory(memory) {
  if (!memory) return showSection('memory');
  const parts = Object.entries(memory.parts).map(([key, value], index) => ({name: MEMORY_NAMES[key] || key, value, look: index % 9, source: MEMORY_SOURCES[key]}));
  const free = memory.capacity_bytes - memory.bytes;
  showSection('memory', stackedBar(`${gib(memory.bytes)} of ${gib(memory.capacity_bytes)}`, parts, Math.max(memory.capacity_bytes, memory.bytes), gib,
    free >= 0 ? `${gib(free)} of ${gib(memory.capacity_bytes)} stay free.` : `${gib(-free)} more than a GPU has.`));
}

function showInputs(assumptions) {
  showSection('inputs', h('details', {}, h('summary', {}, `${plural(assumptions.length, 'input')}: ${kindsText(assumptions)}`),
    plainTable('Inputs, each with its source', [['Input'], ['Value'], ['Kind'], ['Source']],
      assumptions.map(({pointer, value, kind, source}) => [pointer, typeof value === 'number' ? format.number(value) : String(value), kindBadge(kind), source]))));
}
