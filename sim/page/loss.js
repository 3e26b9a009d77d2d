// The loss against days of training, for the job's batch, a quarter of it and four times as much.
'use strict';

const BATCH_FACTORS = [1 / 4, 1, 4], TOKEN_FACTORS = [1 / 16, 1 / 8, 1 / 4, 1 / 2, 1, 2];
const LOSS_LOOKS = [4, 0, 2];
const SECONDS_OF_DAY = 86400;
// Options of the job that give its work or its batch, and others that the question about the loss does not take.
const NOT_OF_LOSS = ['gpus', 'nodes', 'tokens', 'samples', 'epochs', 'flops', 'loss', 'global_batch', 'batch', 'no_failures', 'storage', 'optimise'];
// With these, other batches or the searched split would not be those of the answer above.
const NOT_WITH_LOSS = ['step_time', 'accumulation', 'batch_ramp', 'rate', 'rate_gpu'];

// "62.5B", "1T", as tokens are counted.
function countText(value) {
  const [size, letter] = [[1e12, 'T'], [1e9, 'B'], [1e6, 'M'], [1, '']].find(([least]) => value >= least) || [1, ''];
  return String(Number((value / size).toPrecision(3))) + letter;
}

async function showLoss(ask, options, summary) {
  if (NOT_WITH_LOSS.some(key => options[key] !== undefined)) return showSection('loss');
  if (!summary.trained || !isNumber(summary.trained.tokens) || !summary.lossLaw) return showSection('loss');
  const {batch, tokens, sequence} = summary.trained;
  const batches = BATCH_FACTORS.map(factor => Math.max(1, Math.round(factor * batch / sequence)) * sequence);
  const asked = {...Object.fromEntries(Object.entries(options).filter(([key]) => !NOT_OF_LOSS.includes(key))),
                 gpus: [summary.gpus], tokens: TOKEN_FACTORS.map(factor => String(Math.round(factor * tokens)))};
  // A split that is given may not run the other batches.
  for (const sizes of [[...new Set(batches)], [batch]])
    try {
      return drawLoss((await ask('loss', {...asked, batch_tokens: sizes.map(String)})).json, batch, tokens, options.price);
    } catch (error) {
      if (!(error instanceof AnswerError)) throw error;
    }
  showSection('loss');
}

function drawLoss(answer, batch, tokens, price) {
  const rows = answer.rows.filter(row => row.status === 'ok' && row.seconds);
  const series = [...new Set(rows.map(row => row.batch_tokens))].sort((a, b) => a - b).map(size => ({
    size, look: LOSS_LOOKS[size < batch ? 0 : size > batch ? 2 : 1],
    points: rows.filter(row => row.batch_tokens === size).map(row => ({tokens: row.tokens.value, days: row.seconds.value / SECONDS_OF_DAY, row})).sort((a, b) => a.tokens - b.tokens)}));
  const own = series.find(one => one.size === batch);
  if (!own || own.points.length < 2) return showSection('loss');
  const source = `Law of the loss ${answer.law}: ${answer.law_source}`;
  const cells = ({row, days}) => [
    countText(row.tokens.value), withBounds(value => fixed(value, 3), row.loss.value, row.loss.low, row.loss.high), duration(days * SECONDS_OF_DAY),
    ...(price ? [format.count(row.usd)] : [])];
  showSection('loss',
    h('p', {class: 'note-line'}, `By the law “${answer.law}”. Other text and vocabularies shift the loss.`),
    lossCurve(series, tokens),
    h('ul', {class: 'legend'}, series.map(one => h('li', {}, h('span', {class: 'swatch look-' + one.look, 'aria-hidden': 'true'}), `batch of ${countText(one.size)} tokens`))),
    plainTable('Loss with the job’s batch', [['Tokens'], ['Loss, nats per token', true], ['Training', true], ...(price ? [['USD', true]] : [])], own.points.map(cells), source));
}

// series: [{size, look, points: [{days, tokens, row}]}], points in order of days.
function lossCurve(series, now) {
  const {width, height, left, right, top, bottom} = CURVE;
  const points = series.flatMap(one => one.points), days = points.map(point => point.days), losses = points.map(point => point.row.loss.value);
  const low = Math.min(...losses) - 0.02, high = Math.max(...losses) + 0.02;
  const x = logScale(Math.min(...days), Math.max(...days), left, width - right), y = value => height - bottom + (top - height + bottom) * (value - low) / (high - low);
  const step = [0.02, 0.05, 0.1, 0.2, 0.5].find(size => (high - low) / size <= 6) || 1;
  const ticks = Array.from({length: Math.floor(high / step) - Math.ceil(low / step) + 1}, (_, index) => (Math.ceil(low / step) + index) * step);
  const line = list => list.map((point, index) => `${index ? 'L' : 'M'}${x(point.days).toFixed(1)} ${y(point.row.loss.value).toFixed(1)}`).join('');
  const said = series.map(one => `batch of ${countText(one.size)} tokens: ${one.points.map(point => `${fixed(point.row.loss.value, 2)} after ${duration(point.days * SECONDS_OF_DAY)}`).join(', ')}`).join('; ');
  return svg('svg', {class: 'curve', viewBox: `0 0 ${width} ${height}`, role: 'img', 'aria-label': `Loss over days of training. ${said}`},
    ticks.map(tick => [
      svg('line', {class: 'grid', x1: left, x2: width - right, y1: y(tick), y2: y(tick)}),
      svg('text', {class: 'tick', x: left - 8, y: y(tick) + 4, 'text-anchor': 'end'}, fixed(tick, 2))]),
    powersBetween(Math.min(...days), Math.max(...days)).map(tick => svg('text', {class: 'tick', x: x(tick), y: height - bottom + 18, 'text-anchor': 'middle'}, format.short(tick))),
    svg('text', {class: 'tick', x: (left + width - right) / 2, y: height - 6, 'text-anchor': 'middle'}, 'days of training; upwards the loss in nats per token'),
    series.map(one => [
      svg('path', {class: 'loss-line look-' + one.look, d: line(one.points)}),
      one.points.map(point => svg('circle', {class: 'loss-dot look-' + one.look, cx: x(point.days), cy: y(point.row.loss.value), r: point.tokens === now ? 6 : 4},
        svg('title', {}, `${countText(point.tokens)} tokens, batch of ${countText(one.size)}: loss ${fixed(point.row.loss.value, 3)} after ${duration(point.days * SECONDS_OF_DAY)}`)))]));
}
