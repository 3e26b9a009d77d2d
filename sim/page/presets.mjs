// The jobs that the page offers as a start: famous trainings, from the records of published results, and jobs of the
// shipped scenarios. Each is predicted when the page is built, which also finds the split that the page starts with.
import fs from 'node:fs';
import path from 'node:path';
import {optionsOfSplit} from './split_options.mjs';

const read = (root, name) => JSON.parse(fs.readFileSync(path.join(root, name), 'utf8'));
const plain = name => String(name).toLowerCase().replace(/[\s\-_/.]+/g, '');

// "gpu_hours_for_15.6T_tokens" -> "15.6T"
const tokensOf = metric => (metric.match(/_for_(.+)_tokens$/) || [])[1];

const COPIED = {gpu: 'gpu', gpus_per_node: 'gpus_per_node', network: 'network', precision: 'precision', software: 'software',
                global_batch: 'global_batch', tp: 'tensor', pp: 'pipeline', cp: 'context', ep: 'expert', microbatch: 'micro_batch',
                sharding: 'sharding', epochs: 'epochs', batch_per_gpu: 'batch'};

function optionsOf(record, model) {
  const options = {model};
  for (const [key, option] of Object.entries(COPIED))
    if (record[key] !== undefined) options[option] = record[key];
  options.gpus = [record.gpus];
  if (options.batch) delete options.global_batch;
  if (record.gpus <= (record.gpus_per_node || 8)) delete options.network;
  for (const size of ['context', 'expert'])
    if (options[size] === 1) delete options[size];
  if (options.software === 'other') delete options.software;
  if (tokensOf(record.metric)) options.tokens = tokensOf(record.metric);
  return options;
}

const assumedValue = (answer, pointer) => (answer.predictions[0].assumptions.find(input => input.pointer === pointer) || {}).value;

// Uses the model's own sequence length unless the record has another.
function withSequence(options, record, ask) {
  if (!record.seq) return options;
  const own = assumedValue(ask('job', options), 'tokens of a sequence');
  return own === undefined || own === record.seq ? options : {...options, model: options.model + '@' + record.seq};
}

function foundSplit(options, ask) {
  const {splits} = ask('job', options);
  return splits ? optionsOfSplit(splits[0].splits[0].parallel, options) : {};
}

function famousPresets(root, ask) {
  const models = ask('names', {}).models, gpus = ask('names', {}).gpus;
  const modelOf = name => (models.find(model => [model.id, model.name, ...model.aliases].some(other => plain(other) === plain(name))) || {}).id;
  const gpuOf = id => (gpus.find(gpu => gpu.id === id) || {}).name;
  const presets = [];
  for (const record of read(root, 'scenarios/published/suites/whole-trainings.json').records) {
    const model = modelOf(record.model);
    if (!record.famous || record.not_predicted || !model || !record.gpus) continue;
    try {
      const options = withSequence(optionsOf(record, model), record, ask);
      const work = options.tokens ? options.tokens + ' tokens' : options.epochs + ' epochs';
      presets.push({
        id: record.id, group: 'Famous trainings', options, found: foundSplit(options, ask),
        title: `${record.model}, ${work} on ${record.gpus.toLocaleString('en')} ${gpuOf(record.gpu)}`,
        published: {value: record.value, unit: record.unit, source: record.source, assumed: record.assumed || {}},
      });
    } catch (error) {
      console.error(`preset ${record.id} is left out: ${error.message}`);
    }
  }
  return presets;
}

// GPUs and networks of the cluster files that shipped scenarios name, by their names in the catalogue.
const MACHINES = {'clusters/dgx_h100.json': {gpu: 'H100', network: '8x NDR'},
                  'clusters/jizhi_p40_100gbe.json': {gpu: 'P40', network: '100 GbE RoCE'}};
const SCENARIOS = ['resnet50_h100_ddp', 'imagenet_64k', 'alexnet_64k'];

// Converts a scenario to a job, without the parts that only a scenario has.
function jobOfScenario(scenario) {
  const {batch_per_gpu: batch, compute, convergence} = scenario;
  const gpus = Math.max(...scenario.gpus);
  return {
    model: scenario.model, ...MACHINES[scenario.cluster], gpus: [gpus],
    batch: Array.isArray(batch) ? batch.find(step => gpus <= step.up_to_gpus).batch : batch, precision: compute.precision,
    ...(compute.optimizer && {optimizer: compute.optimizer}), ...(convergence && {epochs: convergence.epochs.value}),
    ...(scenario.communication.all_reduce === 'hierarchical' && {algorithm: 'hierarchical'}),
  };
}

function shippedPresets(root, ask) {
  return SCENARIOS.map(name => {
    const file = `scenarios/${name}.json`, scenario = read(root, file), options = jobOfScenario(scenario);
    return {id: name, group: 'Shipped scenarios, as jobs', options, found: foundSplit(options, ask), title: scenario.name, file};
  });
}

export function presetsOf(root, ask) {
  return [...famousPresets(root, ask), ...shippedPresets(root, ask)];
}
