// Computed after the prediction, in the second worker: scaling, what-ifs, splits, the timeline.
'use strict';

const MOST_GPUS = 16384;
const SOURCE_OF_TABLES = 'Predicted as the answer above, from the inputs of “What the prediction rests on”';
const FACTORS = [1 / 8, 1 / 4, 1 / 2, 1, 2, 4, 8];

const withChange = (options, change) => {
  const changed = {...options, ...change};
  for (const [key, value] of Object.entries(changed)) if (value === undefined) delete changed[key];
  return changed;
};
const withoutSplit = options => Object.fromEntries(Object.entries(options).filter(([key]) => !ALL_SPLIT.includes(key)));

// Asks for the job with a known split. If that does not fit, asks again with all splits searched.
async function askWithAnySplit(ask, options, found) {
  try {
    return {options, answer: await ask('job', {...found, ...options})};
  } catch (error) {
    if (!(error instanceof AnswerError) || Object.keys(found).length === 0) throw error;
    return {options, answer: await ask('job', options)};
  }
}

const rateOf = summary => summary.tokensPerS || summary.samples;
const rateUnit = summary => summary.tokensPerS ? 'tokens/s' : 'images/s';

// ---- more or fewer GPUs ----

async function showScaling(ask, options, found, summary) {
  const points = [], failed = [];
  const counts = [...new Set(FACTORS.map(factor => summary.gpus * factor))].filter(count => Number.isInteger(count) && count >= 1 && count <= MOST_GPUS);
  for (const count of counts) {
    try {
      const {answer} = await askWithAnySplit(ask, withChange(options, {gpus: [count]}), found);
      const one = summaryOf(answer.json, withChange(options, {gpus: [count]}));
      points.push({gpus: count, ...rateOf(one), summary: one});
    } catch (error) {
      if (!(error instanceof AnswerError)) throw error;
      failed.push([count, error.message]);
    }
    drawScaling(points, failed, summary, options);
  }
}

function drawScaling(points, failed, summary, options) {
  if (points.length === 0) return;
  const unit = rateUnit(summary), first = points[0];
  const work = points.some(point => point.summary.training);
  const columns = [['GPUs'], [unit, true], ['80 % interval', true], ['Per GPU', true], ...(work ? [['Training', true], ['GPU hours', true]] : [])];
  const rows = points.map(point => [
    h('button', {type: 'button', class: 'link', click: () => takeChange({gpus: [point.gpus]})}, format.count(point.gpus)),
    format.count(point.value), boundsText(format.short, point.low, point.high), format.percent(point.value / point.gpus / (first.value / first.gpus)),
    ...(work ? [duration(point.summary.training && point.summary.training.value), format.count(point.summary.hours && point.summary.hours.value)] : [])]);
  showSection('scaling',
    h('p', {class: 'note-line'}, options.global_batch ? `The global batch stays at ${format.count(options.global_batch)}.` : 'The batch per GPU stays the same.'),
    points.length > 1 && scalingCurve(points, summary.gpus, unit),
    plainTable('Throughput by number of GPUs; a number takes it', columns, rows, SOURCE_OF_TABLES),
    failed.length > 0 && h('ul', {class: 'warnings'}, failed.map(([count, why]) => h('li', {}, `${format.count(count)} GPUs: ${why}`))));
}

// ---- what if ----

const NEXT_GPU = {'v100-sxm2': 'A100', 'v100-sxm2-32': 'A100', 'a100-sxm4-40': 'H100', 'a100-sxm4': 'H100', 'a800-sxm4': 'H100', 'h100-sxm': 'B200', 'h800-sxm': 'B200',
                  h20: 'H200', h200: 'B200', b200: 'B300', 'p100-sxm2': 'V100', p40: 'V100', mi250x: 'MI300X', mi300x: 'MI355X', l40s: 'H100', t4: 'L4', a10: 'L40S'};

// The network that the prediction used at twice its rate, as a text that the predictor reads.
function fasterNetwork(read) {
  if (!read.network || !isNumber(read.network.port_bytes_per_s)) return null;
  const rate = /(\d+(?:\.\d+)?) (Gb\/s|GbE)/.exec(read.network.text);
  return rate && read.network.text.replace(rate[0], 2 * Number(rate[1]) + ' ' + rate[2]).replace(/ (NDR|HDR|EDR|FDR|XDR|QDR|DDR)\b/, '');
}

function whatIfs(options, summary) {
  const list = [], read = summary.read, batch = options.global_batch ? 'global_batch' : options.batch && 'batch';
  const add = (name, change) => list.push({name, change});
  if (2 * summary.gpus <= MOST_GPUS) add(`twice the GPUs, ${format.count(2 * summary.gpus)}`, {gpus: [2 * summary.gpus]});
  if (summary.gpus % 2 === 0) add(`half the GPUs, ${format.count(summary.gpus / 2)}`, {gpus: [summary.gpus / 2]});
  const network = fasterNetwork(read);
  if (network && summary.gpus > read.gpus_per_node) add(`twice the network, ${network}`, {network});
  if (!/fp8|fp4/.test(read.precision)) add('matrix multiplications in fp8', {precision: 'fp8'});
  if (NEXT_GPU[read.gpu.id]) add(`the next GPU, ${NEXT_GPU[read.gpu.id]}`, {gpu: NEXT_GPU[read.gpu.id], gpus_per_node: undefined, link: undefined});
  if (batch) add(`twice the batch, ${format.count(2 * options[batch])}`, {[batch]: 2 * options[batch]});
  return list;
}

async function showWhatIfs(ask, options, found, summary) {
  const rows = [];
  for (const {name, change} of whatIfs(options, summary)) {
    const changed = withChange(options, change);
    const take = h('button', {type: 'button', class: 'link', click: () => takeChange(change)}, name);
    try {
      const {answer} = await askWithAnySplit(ask, changed, found);
      const other = summaryOf(answer.json, changed), speed = rateOf(other).value / rateOf(summary).value;
      const perSample = (other.gpus / rateOf(other).value) / (summary.gpus / rateOf(summary).value);
      rows.push([take, `${fixed(speed, 2)} times`, format.change(perSample - 1),
                 other.memory ? `${gib(other.memory.bytes)} of ${gib(other.memory.capacity_bytes)}` : NONE]);
    } catch (error) {
      if (!(error instanceof AnswerError)) throw error;
      rows.push([take, {span: 3, content: h('span', {class: 'reason'}, error.message)}]);
    }
    showSection('what-ifs', plainTable('Changes of one thing; a name takes it', [['Change'], ['Throughput', true], ['GPU hours for the same work', true], ['Memory of a GPU', true]], rows, SOURCE_OF_TABLES));
  }
}

// ---- splits ----

function drawSplits(answer, options, note) {
  const rankings = answer.splits && answer.splits.at(-1);
  if (!rankings) return showSection('splits');
  const best = rankings.splits[0];
  const rows = rankings.splits.map(split => [
    h('button', {type: 'button', class: 'link', click: () => takeSplit(optionsOfSplit(split.parallel, {}))}, split.text), duration(split.iteration_s),
    format.change(split.iteration_s / best.iteration_s - 1), format.percent(split.bubble_fraction), gib(split.memory.bytes)]);
  showSection('splits',
    h('p', {class: 'note-line'}, `${format.count(rankings.fitting)} of ${format.count(rankings.valid)} possible splits fit. ${note}`),
    plainTable('The fastest splits; a name takes it', [['Split'], ['Iteration', true], ['Longer by', true], ['Bubble', true], ['Memory', true]], rows, SOURCE_OF_TABLES));
}

// Shows the splits that a search finds. If the job was given a split, searches again without it.
async function showSplits(ask, options, summary) {
  const open = withoutSplit(options), hasOwn = Object.keys(open).length < Object.keys(options).length;
  if (!summary.isSequences && !hasOwn) return showSection('splits');
  if (!hasOwn && summary.split) return drawSplits({splits: [summary.split]}, options, '');
  try {
    const {json} = await ask('job', open);
    drawSplits(json, open, 'Here the whole split is searched, yours aside.');
  } catch (error) {
    if (!(error instanceof AnswerError)) throw error;
    showSection('splits', h('p', {}, error.message));
  }
}

// ---- timeline ----

const ROW = {height: 22, gap: 3, left: 130, width: 900, bottom: 26};
const MOST_BARS = 6000, MOST_ROWS = 16;

// Keeps the outermost of nested events: a pass, but not its layers.
function barsOf(events) {
  const bars = [], ends = new Map();
  for (const event of events.filter(one => one.ph === 'X').sort((a, b) => a.ts - b.ts || b.dur - a.dur)) {
    const row = `${event.pid}/${event.tid}`;
    if (event.ts + event.dur <= (ends.get(row) || 0) * (1 + 1e-12)) continue;
    ends.set(row, event.ts + event.dur);
    bars.push(event);
  }
  return bars.slice(0, MOST_BARS);
}

function barTitle({name, dur, args}) {
  const micro = args && isNumber(args.micro_batch) ? ` of micro-batch ${args.micro_batch + 1}, chunk ${args.chunk + 1}` : '';
  return `${name}${micro}: ${duration(dur / 1e6)}`;
}

// One row per pipeline stage, or per stream of a GPU: [{title, bars}].
function rowsOf(events, bars) {
  const named = (kind, pid, tid) => (events.find(event => event.ph === 'M' && event.name === kind && event.pid === pid && event.tid === tid) || {args: {}}).args.name;
  const rows = new Map();
  for (const bar of bars) {
    const process = (named('process_name', bar.pid, 0) || 'GPU ' + bar.pid).replace(/ \((node|GPU) \d+\)/, ''), isStage = process.startsWith('stage');
    const key = isStage ? bar.pid : `${bar.pid}/${bar.tid}`;
    if (!rows.has(key)) rows.set(key, {pid: bar.pid, tid: bar.tid, isStage, bars: [], title: isStage ? process : `${process}, ${named('thread_name', bar.pid, bar.tid) || bar.tid}`});
    rows.get(key).bars.push(bar);
  }
  return [...rows.values()].sort((a, b) => a.pid - b.pid || a.tid - b.tid).slice(0, MOST_ROWS);
}

const BAR_LOOKS = {forward: 0, backward: 8, 'gradients of weights': 2, update: 3};
const lookOf = (bar, row) => BAR_LOOKS[bar.name] ?? (/compute/.test(row.title) ? 0 : 6);

function drawTimeline(events) {
  const bars = barsOf(events), rows = rowsOf(events, bars);
  if (rows.length === 0) return showSection('timeline');
  const start = Math.min(...bars.map(bar => bar.ts)), end = Math.max(...bars.map(bar => bar.ts + bar.dur));
  const x = time => ROW.left + (ROW.width - ROW.left) * (time - start) / (end - start);
  const height = rows.length * (ROW.height + ROW.gap) + ROW.bottom, whole = duration((end - start) / 1e6);
  const drawn = rows.map((row, index) => {
    const y = index * (ROW.height + ROW.gap);
    return [svg('text', {class: 'tick', x: ROW.left - 6, y: y + 15, 'text-anchor': 'end'}, row.title),
      row.bars.map(bar => svg('rect', {class: 'bar look-' + lookOf(bar, row), x: x(bar.ts).toFixed(2), y, height: ROW.height,
        width: Math.max(0.4, x(bar.ts + bar.dur) - x(bar.ts)).toFixed(2)}, svg('title', {}, barTitle(bar))))];
  });
  const isPipeline = rows[0].isStage, legend = Object.keys(BAR_LOOKS).filter(name => bars.some(bar => bar.name === name));
  showSection('timeline',
    h('div', {class: 'scroller', tabindex: '0', role: 'region', 'aria-label': 'Timeline'}, svg('svg', {class: 'timeline', viewBox: `0 0 ${ROW.width} ${height}`, role: 'img',
      'aria-label': `One iteration of ${whole}: ${rows.map(row => row.title).join('; ')}`}, drawn,
      svg('text', {class: 'tick', x: ROW.left, y: height - 6}, '0'), svg('text', {class: 'tick', x: ROW.width, y: height - 6, 'text-anchor': 'end'}, whole))),
    h('ul', {class: 'legend'}, [...legend.map(name => [name, BAR_LOOKS[name]]), ['exchange', 6]].map(
      ([name, look]) => h('li', {}, h('span', {class: 'swatch look-' + look, 'aria-hidden': 'true'}), name))),
    h('p', {class: 'note-line'}, `${isPipeline ? 'The stages of one replica, in closed form.' : 'An iteration of the first GPUs.'} Point at a bar for its name and time.`));
}

async function showTimeline(ask, options, found) {
  try {
    drawTimeline((await ask('timeline', {...found, ...options})).json);
  } catch (error) {
    if (!(error instanceof AnswerError)) throw error;
    showSection('timeline');
  }
}
