// The controls of a job. Each is an option of `simulate job`, whose type, range, choices and help come from the predictor.
'use strict';

const dataOf = id => JSON.parse(document.getElementById(id).textContent);
const OPTIONS = new Map(dataOf('options-data').map(option => [option.key, option]));
const NAMES = dataOf('names-data');
const PRESETS = dataOf('presets-data');

const LABELS = {
  model: 'Model', gpu: 'GPU', gpus: 'Number of GPUs', network: 'Network between nodes', precision: 'Precision',
  global_batch: 'Global batch', batch: 'Batch per GPU', tokens: 'Tokens to train', epochs: 'Epochs', price: 'USD per GPU-hour',
  tensor: 'Tensor ranks', pipeline: 'Pipeline stages', virtual_stages: 'Virtual stages', context: 'Context ranks', expert: 'Expert ranks',
  micro_batch: 'Micro-batch', sharding: 'Sharding', recompute: 'Recomputation', schedule: 'Schedule', sequence_parallel: 'Sequence parallel',
  gpus_per_node: 'GPUs per node', link: 'Link within a node', rate: 'Measured samples/s of one GPU',
};
const FIRST = ['model', 'gpu', 'gpus', 'network', 'precision', 'global_batch', 'batch', 'tokens', 'epochs', 'price'];
const SPLIT = ['tensor', 'pipeline', 'virtual_stages', 'context', 'expert', 'micro_batch', 'sharding', 'recompute', 'schedule', 'sequence_parallel'];
const HIDDEN = ['optimise'];
const ALL_SPLIT = [...OPTIONS.values()].filter(option => option.split).map(option => option.key);

// Of names with several spellings, only one is offered.
const PRECISIONS = ['fp32', 'tf32', 'mixed', 'bf16', 'fp16', 'bf16-true', 'fp8', 'mxfp8', 'nvfp4'];
const NETWORKS = ['8x NDR', '8x XDR', '8x HDR', '8x 400 GbE RoCE', '8x 800 Gb/s InfiniBand', '32x 100 Gb/s EFA', '4x 100 Gb/s EFA', '100 GbE', '25 GbE', '10 GbE'];

const labelOf = key => LABELS[key] || (key[0].toUpperCase() + key.slice(1)).replaceAll('_', ' ');
const named = list => list.map(entry => [entry.id, entry.name === entry.id ? (entry.aliases[0] || '') : entry.name]);
const SUGGESTIONS = {
  model: named(NAMES.models), gpu: named(NAMES.gpus), link: named(NAMES.links), software: named(NAMES.software), algorithm: named(NAMES.algorithms),
  network: [...NETWORKS.map(text => [text, '']), ...named(NAMES.networks)],
};

const controls = new Map();  // key -> {input, hint}

function makeInput(option) {
  const id = 'control-' + option.key, described = id + '-help';
  const common = {id, name: option.key, 'aria-describedby': described, title: option.help};
  if (option.type === 'boolean' || (option.choices && !option.list)) {
    const choices = option.key === 'precision' ? PRECISIONS : option.choices || ['yes', 'no'];
    return h('select', common, h('option', {value: ''}, 'automatic'), choices.map(choice => h('option', {value: choice}, choice)));
  }
  const isNumber = option.type !== 'string' && !option.list || option.key === 'gpus';
  return h('input', {...common, type: 'text', inputmode: isNumber ? 'decimal' : undefined, spellcheck: 'false', autocapitalize: 'off',
                     list: SUGGESTIONS[option.key] && 'list-' + option.key});
}

function makeControl(key) {
  const option = OPTIONS.get(key), input = makeInput(option);
  const hint = h('span', {class: 'hint', id: input.id + '-hint'});
  const help = h('span', {class: 'unseen', id: input.id + '-help'}, option.help);
  input.setAttribute('aria-describedby', `${input.id}-help ${input.id}-hint`);
  controls.set(key, {input, hint});
  return h('div', {class: 'control control-' + key}, h('label', {for: input.id}, labelOf(key)), input, hint, help,
           SUGGESTIONS[key] && h('datalist', {id: 'list-' + key}, SUGGESTIONS[key].map(([value, name]) => h('option', {value, label: name || undefined}))));
}

const group = (legend, keys) => h('fieldset', {}, h('legend', {}, legend), h('div', {class: 'control-grid'}, keys.map(makeControl)));

function showControls(form, {change, choosePreset, clearSplit}) {
  const select = h('select', {id: 'preset', change: () => choosePreset(select.value)}, h('option', {value: ''}, 'your own job'));
  for (const name of new Set(PRESETS.map(preset => preset.group)))
    select.append(h('optgroup', {label: name}, PRESETS.filter(preset => preset.group === name).map(
      preset => h('option', {value: preset.id}, preset.title))));
  const rest = [...OPTIONS.keys()].filter(key => ![...FIRST, ...SPLIT, ...HIDDEN].includes(key));
  form.append(
    h('div', {class: 'control'}, h('label', {for: 'preset'}, 'Begin with'), select),
    group('The job', FIRST),
    h('details', {id: 'split-controls'}, h('summary', {}, 'How the model is split over GPUs'),
      h('p', {class: 'note-line'}, 'Empty: the fastest split that fits is searched.'),
      group('Split', SPLIT), h('button', {type: 'button', class: 'plain', id: 'clear-split', click: clearSplit}, 'Search the whole split')),
    h('details', {id: 'more-controls'}, h('summary', {}, 'More options'), group('More', rest)));
  form.addEventListener('input', event => { if (event.target.name) change(); });
  form.addEventListener('submit', event => event.preventDefault());
}

// ---- values ----

const splitList = text => text.split(/[,\s]+/).filter(Boolean);

// A number if the text is one. Otherwise the text itself, which the predictor refuses with its own message.
function numberOf(text) {
  const value = Number(text);
  return Number.isFinite(value) ? value : text;
}

function valueOf(option, text) {
  if (option.type === 'boolean') return text === 'yes';
  if (option.list) {
    const items = splitList(text);
    return option.type === 'string' ? items : items.map(numberOf);
  }
  return option.type === 'string' ? text : numberOf(text);
}

function textOf(value) {
  if (typeof value === 'boolean') return value ? 'yes' : 'no';
  return Array.isArray(value) ? value.join(',') : String(value);
}

// The job's options in the predictor's form, without empty ones.
function readControls() {
  const options = {};
  for (const [key, {input}] of controls) {
    const text = input.value.trim();
    if (text !== '') options[key] = valueOf(OPTIONS.get(key), text);
  }
  return options;
}

function writeControls(options) {
  for (const [key, {input}] of controls) {
    const text = options[key] === undefined ? '' : textOf(options[key]);
    if (input.tagName === 'SELECT' && text && ![...input.options].some(choice => choice.value === text))
      input.append(h('option', {value: text}, text));
    input.value = text;
  }
}

// ---- assumed values, shown in the empty controls ----

const POINTERS = {precision: 'precision', gpus_per_node: 'gpus_per_node', link: 'intra_node_link', software: 'software', optimizer: 'optimizer',
                  global_batch: 'global_batch', algorithm: 'algorithm'};

function showAssumed(read, assumptions, found) {
  const byPointer = new Map(assumptions.map(input => [input.pointer, input]));
  for (const [key, {input, hint}] of controls) {
    const assumed = byPointer.get(POINTERS[key]);
    let value = assumed && String(assumed.value), source = assumed && `${assumed.kind}: ${assumed.source}`;
    if (found[key] !== undefined && input.value === '') [value, source] = [textOf(found[key]), 'of the fastest split that fits'];
    const shown = input.value === '' && value !== undefined ? value : '';
    if (input.tagName === 'SELECT') input.options[0].textContent = shown ? `automatic (${shown})` : 'automatic';
    else input.placeholder = shown;
    hint.textContent = !shown ? '' : input.tagName === 'SELECT' ? `${shown}, ${source}` : source;
    input.title = OPTIONS.get(key).help + (shown ? `\n\nNow ${shown}, ${source}` : '');
  }
}
