// Opens pages in headless Chromium: node pages_test.mjs FOLDER_OF_MODULES CHROMIUM FOLDER_OF_PAGES
// The folder holds what simulate and validate wrote (run.sh); pages of plans are made from one of them by another document.
import assert from 'node:assert/strict';
import fs from 'node:fs';
import {createRequire} from 'node:module';
import path from 'node:path';
import {pathToFileURL} from 'node:url';
import {HOSTILE, samplePlan} from './sample_plan.mjs';

const [modules, executablePath, folder] = process.argv.slice(2);
const {chromium} = createRequire(path.join(modules, 'x.js'))('playwright-core');
const axe = fs.readFileSync(path.join(modules, 'node_modules/axe-core/axe.min.js'), 'utf8');
const DOCUMENT = /(<script type="application\/json" id="document">)([^]*?)(<\/script>)/;

const screens = {desktop: {viewport: {width: 1280, height: 900}, colorScheme: 'light'}, night: {viewport: {width: 1280, height: 900}, colorScheme: 'dark'},
                 phone: {viewport: {width: 390, height: 800}, colorScheme: 'light', hasTouch: true}};

const pageFile = name => path.join(folder, name + '.html');
const documentOf = name => JSON.parse(fs.readFileSync(pageFile(name), 'utf8').match(DOCUMENT)[2]);

function writePlan(name, plan) {
  const text = JSON.stringify(plan).replaceAll('<', '\\u003c');
  fs.writeFileSync(pageFile(name), fs.readFileSync(pageFile('simulation'), 'utf8').replace(DOCUMENT, (all, begin, old, end) => begin + text + end));
}

// ---- what holds for every page ----

async function isWellFormed(page) {
  const wrong = await page.evaluate(() => {
    const all = selector => [...document.querySelectorAll(selector)], lines = [];
    const must = (holds, what) => { if (!holds) lines.push(what); };
    must(all('h1').length === 1 && all('main').length === 1 && all('header').length === 1 && all('nav a').length > 1, 'landmarks');
    must(document.documentElement.scrollWidth <= innerWidth, 'wider than the screen: ' + document.documentElement.scrollWidth);
    for (const table of all('table')) must(table.caption && table.caption.textContent, 'a table without caption');
    for (const th of all('th')) must(th.scope, 'a heading cell without scope: ' + th.textContent);
    for (const th of all('thead th:not(.opener)')) must(th.hasAttribute('aria-sort') && th.querySelector('button'), 'a column that does not say how it is sorted');
    for (const part of all('section')) must(document.getElementById(part.getAttribute('aria-labelledby')), 'a section without its title');
    for (const link of all('nav a, a.skip')) must(document.querySelector(link.getAttribute('href')), 'a link to nowhere: ' + link.href);
    for (const field of all('input, select')) must(field.labels.length === 1, 'a field without label');
    for (const canvas of all('canvas')) must(canvas.getAttribute('aria-label').length > 20 && canvas.tabIndex === 0, 'a chart without words');
    for (const part of all('h1, h2, h3, main p, li, dt, dd, caption, figcaption, label, button, summary')) {
      const box = part.getBoundingClientRect(), scrolls = part.closest('.scroller');
      must(scrolls || box.width === 0 || box.right <= innerWidth + 1 || part.closest('.unseen, .skip'), 'text beyond the screen: ' + part.textContent.slice(0, 60));
      must(part.matches('.unseen, .skip') || part.scrollWidth <= part.clientWidth + 1 || part.clientWidth === 0, 'text beyond its box: ' + part.textContent.slice(0, 60));
    }
    if (innerWidth >= 1280)
      for (const box of all('.scroller')) must(box.scrollWidth <= box.clientWidth + 1, 'columns beyond the box, by ' + (box.scrollWidth - box.clientWidth) + ' px: ' + box.getAttribute('aria-label'));
    must(!/undefined|NaN|\[object|null/.test(document.body.innerText), 'a value that is none: ' + (document.body.innerText.match(/.{0,40}(undefined|NaN|\[object|null).{0,40}/) || [''])[0]);
    return lines;
  });
  assert.deepEqual(wrong, []);
}

// Every chart has painted pixels of its own first series' colour, not axes alone.
async function isDrawn(page, atLeast) {
  const shares = await page.evaluate(() => [...document.querySelectorAll('canvas')].map(canvas => {
    const pixels = canvas.getContext('2d').getImageData(0, 0, canvas.width, canvas.height).data;
    const colour = Chart.getChart(canvas).data.datasets[0].borderColor;
    const wanted = [1, 3, 5].map(at => parseInt(colour.slice(at, at + 2), 16));
    let count = 0;
    for (let at = 0; at < pixels.length; at += 4)
      count += pixels[at + 3] > 200 && wanted.every((value, channel) => Math.abs(pixels[at + channel] - value) < 12);
    return count;
  }));
  assert.ok(shares.length >= atLeast, `${shares.length} charts, wanted ${atLeast}`);
  for (const [index, count] of shares.entries()) assert.ok(count > 30, `chart ${index} is empty (${count} pixels)`);
}

// WCAG 2.2, levels A and AA, by axe-core: contrast of every text against what lies behind it, names, roles, order.
async function isAccessible(page) {
  await page.evaluate(axe);
  const {passes, violations} = await page.evaluate(() => window.axe.run(document, {runOnly: ['wcag2a', 'wcag2aa', 'wcag21a', 'wcag21aa', 'wcag22aa']}));
  assert.ok(passes.some(rule => rule.id === 'color-contrast'), 'contrasts were looked at');
  assert.deepEqual(violations.flatMap(rule => rule.nodes.map(node => `${rule.id}: ${node.html.slice(0, 120)} (${node.failureSummary.slice(0, 240)})`)), []);
}

// On a phone the same words stand in the same colours, so one page of each kind is looked at there: two seconds each.
const seenByAxe = (name, screen) => screen !== 'phone' || ['simulation', 'plan'].includes(name);

// ---- what single pages do ----

const chartOf = (page, title) => page.locator('figure', {has: page.getByText(title, {exact: true})}).locator('canvas');

// Moves the pointer to a point of a chart and reads its tip.
async function tipAt(page, canvas, dataset, index) {
  await canvas.scrollIntoViewIfNeeded();
  const at = await canvas.evaluate((element, [d, i]) => {
    const {x, y} = Chart.getChart(element).getDatasetMeta(d).data[i].getProps(['x', 'y']), box = element.getBoundingClientRect();
    return {x: box.left + x, y: box.top + y};
  }, [dataset, index]);
  await page.mouse.move(at.x - 3, at.y);
  await page.mouse.move(at.x, at.y);
  await page.waitForTimeout(60);
  return canvas.evaluate(element => {
    const {tooltip} = Chart.getChart(element);
    return tooltip.opacity === 0 ? '' : [...tooltip.title, ...tooltip.body.flatMap(part => part.lines)].join(' ').replaceAll('\u00a0', ' ');
  });
}

async function column(table, title) {
  const headings = await table.locator('thead th').allTextContents();
  const at = headings.findIndex(text => text.startsWith(title));
  assert.ok(at >= 0, `no column ${title} in ${headings}`);
  return table.locator('tbody tr').evaluateAll((rows, index) => rows.map(row => row.cells[index].textContent), at);
}

async function sortBy(table, title) {
  const heading = table.locator('thead th', {hasText: title});
  await heading.getByRole('button').press('Enter');
  return heading.getAttribute('aria-sort');
}

const tableOf = (page, caption) => page.locator('.table-box', {has: page.locator('caption', {hasText: caption})});

// The rows of the program's table: cells stand two blanks apart, a number and its unit one. A line about memory may
// stand below them.
function printedRows(name) {
  const lines = fs.readFileSync(path.join(folder, name + '.txt'), 'utf8').split('\n').map(line => line.trim().split(/ {2,}/));
  const head = lines.findIndex(cells => cells[0] === 'GPUs' && cells[1] === 'batch/GPU');
  const isBehind = (cells, index) => index > head && (cells[0] === '' || cells[0].startsWith('Memory per GPU'));
  return lines.slice(head + 1, lines.findIndex(isBehind));
}

async function showsWhatIsPrinted(table, name) {
  const cells = await table.locator('tbody tr').evaluateAll(rows => rows.map(row => [...row.cells].map(cell => cell.firstChild.textContent.replaceAll('\u00a0', ' '))));
  const printed = printedRows(name);
  assert.ok(printed.length > 5);
  const plainCount = row => [row[0].replaceAll(',', ''), ...row.slice(1, 9)];  // GPUs are printed without commas
  assert.deepEqual(cells.map(plainCount), printed.map(plainCount));
}

async function simulationWorks(page) {
  const {points} = documentOf('simulation'), last = points[points.length - 1];
  const rate = Math.round(last.samples_per_s).toLocaleString('en-GB');
  assert.ok((await page.locator('#answer').innerText()).replaceAll('\u00a0', ' ').includes(rate + ' images/s'));
  assert.match(await tipAt(page, chartOf(page, 'Throughput against GPUs'), 0, points.length - 1), new RegExp(`2,048 GPUs.*${rate}`));
  const canvas = chartOf(page, 'Scaling efficiency against GPUs');
  await canvas.focus();
  for (const key of ['Home', 'ArrowRight']) await page.keyboard.press(key);
  assert.match(await canvas.locator('xpath=../..').locator('[aria-live]').innerText(), /^16 GPUs, 99\.\d.% efficient/);
  const table = tableOf(page, 'Predictions');
  await showsWhatIsPrinted(table, 'simulation');
  assert.equal(await sortBy(table, 'Images/s'), 'ascending');
  assert.equal(await sortBy(table, 'Images/s'), 'descending');
  assert.deepEqual(await column(table, 'GPUs'), points.map(point => point.gpus.toLocaleString('en-GB')).reverse());
  await tableOf(page, 'Inputs of').getByLabel('Find').fill('fabric latency');
  await page.waitForFunction(() => document.querySelector('#assumptions tbody').rows.length === 1);
}

// Series differ by colour and by mark: both for the first ten, one of them for a hundred.
async function looksDiffer(page) {
  const looks = await page.evaluate(() => Array.from({length: 100}, (unused, look) => [colourOf(PALETTES.light, look), markOf(look), colourOf(PALETTES.dark, look)]));
  for (const part of [0, 1, 2]) assert.equal(new Set(looks.slice(0, 10).map(look => look[part])).size, 10);
  assert.equal(new Set(looks.map(([colour, mark]) => colour + mark)).size, 100);
  const {points} = documentOf('variants'), table = tableOf(page, 'of the variants by number of GPUs');
  assert.equal(await table.locator('tbody tr').count(), new Set(points.map(point => point.variant)).size);
  assert.ok((await column(table, 'Of the fastest')).some(text => text.startsWith('100.0')));
}

async function printWorks(page) {
  const colourOf = () => page.evaluate(() => Chart.getChart(document.querySelector('canvas')).options.color);
  const before = await colourOf();
  await page.evaluate(() => window.dispatchEvent(new Event('beforeprint')));
  assert.equal(await colourOf(), '#1d2733', 'charts print dark on light');
  await page.evaluate(() => window.dispatchEvent(new Event('afterprint')));
  assert.equal(await colourOf(), before);
  assert.ok((await page.pdf({format: 'A4'})).length > 20000);
}

async function validationWorks(page) {
  const records = documentOf('validation').suites.flatMap(suite => suite.records), test = records.filter(record => record.use === 'test');
  await page.getByLabel('Use').selectOption('test');
  await page.waitForFunction(count => document.querySelector('#records > [role=status]').textContent.startsWith(count + ' record'), test.filter(r => 'error' in r).length);
  assert.ok((await tipAt(page, chartOf(page, 'Predicted over published, by class'), 0, 0)).length > 10);
  const ratios = await chartOf(page, 'Predicted over published, by class').evaluate(element => Chart.getChart(element).data.datasets.flatMap(one => one.data.map(point => point.y)));
  assert.ok(ratios.every(ratio => ratio >= 0.1 && ratio <= 10), 'ratios, within a factor of ten');
  const table = tableOf(page, 'Records;'), errors = test.filter(record => 'error' in record).map(record => Math.abs(record.error));
  assert.equal(await sortBy(table, 'Error'), 'descending');
  const shown = (await column(table, 'Error')).map(text => Math.abs(parseFloat(text.replace('\u2212', '-'))));
  assert.ok(Math.abs(shown[0] - 100 * Math.max(...errors)) < 0.06, `${shown[0]} first`);
  await table.locator('button.open').first().click();
  assert.ok(await page.locator('tr.details table').isVisible());
}

async function planWorks(page) {
  const plan = documentOf('plan'), rows = plan.points;
  assert.ok((await page.locator('#answer .answer').textContent()) === HOSTILE, 'the answer as it is written');
  assert.equal(await page.locator('img').count(), 0);
  const frontier = plan.frontier.map(id => rows.find(point => point.id === id));
  const dataset = await chartOf(page, 'Cost against time').evaluate(element => Chart.getChart(element).data.datasets.findIndex(one => one.label === 'Frontier'));
  assert.match(await tipAt(page, chartOf(page, 'Cost against time'), dataset, frontier.length - 1), /cost [\d,.]+ USD \([\d,.]+ to [\d,.]+ USD\)/);
  const table = tableOf(page, 'All points');
  await page.getByLabel('Show').selectOption('failed');
  assert.deepEqual((await column(table, 'Status')).map(text => text.includes('onerror')), [true]);
  await page.getByLabel('Show').selectOption('');
  await sortBy(table, 'Cost');
  const cheapest = Math.min(...rows.filter(point => point.status === 'ok').map(point => point.cost));
  assert.ok((await column(table, 'Cost'))[0].startsWith(cheapest < 100 ? cheapest.toFixed(2) : cheapest.toFixed(0)));
}

async function longPlanWorks(page) {
  const table = tableOf(page, 'All points');
  assert.equal(await table.locator('tbody tr').count(), 25);
  await table.getByRole('button', {name: 'Next'}).click();
  assert.equal(await table.locator('[role=status]').innerText(), 'Rows 26 to 50 of 10,000');
  const [saved] = await Promise.all([page.waitForEvent('download'), table.getByRole('button', {name: 'Save as CSV'}).click()]);
  assert.equal(fs.readFileSync(await saved.path(), 'utf8').trimEnd().split('\r\n').length, 10001);
}

// Dots of a machine share colour and mark, of two machines they share neither; memory says of how much.
async function machinesAreTold(page) {
  const looks = await chartOf(page, 'Cost against time').evaluate(element => Chart.getChart(element).data.datasets.map(one => ({label: one.label, colour: one.borderColor, mark: one.pointStyle})));
  const machines = [...new Set(documentOf('asked').points.map(point => point.gpu))].map(gpu => looks.find(one => one.label === gpu));
  assert.ok(machines.length >= 2 && machines.every(Boolean), 'every machine has its name in the chart');
  for (const part of ['colour', 'mark']) assert.equal(new Set(machines.map(one => one[part])).size, machines.length, part);
  assert.match((await column(tableOf(page, 'All points'), 'Memory'))[0], /^[\d.]+\u00a0of\u00a080\u00a0GiB$/);
}

// A plan that is still worked out says so, and loads itself again.
async function followsItsFile(browser) {
  writePlan('watched', {...samplePlan([32, 64]), so_far: {waiting: 7, points: 20}});
  const page = await (await browser.newContext(screens.desktop)).newPage();
  await page.goto(pathToFileURL(pageFile('watched')).href);
  assert.match(await page.locator('#so-far').innerText(), /7 of 20 points are still to be predicted/);
  writePlan('watched', samplePlan([32, 64]));
  await page.waitForFunction(() => document.querySelector('main section') && !document.querySelector('#so-far'), null, {timeout: 10000});
}

// ---- all of them ----

const range = (count, value) => Array.from({length: count}, (unused, index) => value(index));
writePlan('plan', samplePlan([32, 64, 128, 256, 1024]));
writePlan('long-plan', samplePlan(range(1000, index => index + 1)));
const runs = [
  ['simulation', 'desktop', 4, simulationWorks], ['simulation', 'night', 4, printWorks], ['simulation', 'phone', 4], ['variants', 'desktop', 3, looksDiffer], ['variants', 'phone', 3],
  ['validation', 'desktop', 2, validationWorks], ['validation', 'phone', 2], ['plan', 'desktop', 6, planWorks], ['plan', 'night', 6], ['plan', 'phone', 6],
  ['long-plan', 'desktop', 6, longPlanWorks]];
if (fs.existsSync(pageFile('planned'))) runs.push(['planned', 'desktop', 1], ['planned', 'phone', 1]);
if (fs.existsSync(pageFile('asked'))) runs.push(['asked', 'desktop', 1, machinesAreTold], ['asked', 'phone', 1]);

const browser = await chromium.launch({executablePath, args: ['--disable-dev-shm-usage']});
let failures = 0;
for (const [name, screen, charts, works] of runs) {
  const context = await browser.newContext(screens[screen]), page = await context.newPage(), complaints = [];
  page.on('console', message => { if (['error', 'warning'].includes(message.type())) complaints.push('console: ' + message.text()); });
  page.on('pageerror', error => complaints.push('error: ' + error.stack));
  const address = pathToFileURL(pageFile(name)).href;
  page.on('request', request => { if (request.url() !== address && !/^(data|blob):/.test(request.url())) complaints.push('request: ' + request.url()); });
  try {
    await page.goto(address);
    await page.waitForFunction(() => document.querySelector('footer button') && [...document.querySelectorAll('canvas')].every(canvas => Chart.getChart(canvas)));
    await isWellFormed(page);
    await isDrawn(page, charts);
    if (seenByAxe(name, screen)) await isAccessible(page);
    if (works) await works(page);
    assert.deepEqual(complaints, []);
    console.log(`ok      ${name}, ${screen}`);
  } catch (error) {
    ++failures;
    console.log(`failed  ${name}, ${screen}: ${error.stack}\n${complaints.join('\n')}`);
  }
  await context.close();
}
try {
  await followsItsFile(browser);
  console.log('ok      a plan that is watched');
} catch (error) {
  ++failures;
  console.log(`failed  a plan that is watched: ${error.stack}`);
}
await browser.close();
process.exitCode = failures === 0 ? 0 : 1;
