// What a user does with the page: by keyboard, on a phone, in the dark, on paper, with a wrong value, with a link.
import assert from 'node:assert/strict';
import {after, before, test} from 'node:test';
import {answered, axe, finished, hashOf, lead, openPage, QUICK_JOB, startBrowser} from './browser.mjs';

let browser;
before(async () => { browser = await startBrowser(); });
after(() => browser.close());

const SCREENS = {
  light: {colorScheme: 'light'}, dark: {colorScheme: 'dark'}, phone: {viewport: {width: 360, height: 780}, hasTouch: true},
};

// WCAG 2.2, levels A and AA.
async function assertAccessible(page) {
  await page.evaluate(axe());
  const {passes, violations} = await page.evaluate(() => window.axe.run(document, {runOnly: ['wcag2a', 'wcag2aa', 'wcag21a', 'wcag21aa', 'wcag22aa']}));
  assert.ok(passes.some(rule => rule.id === 'color-contrast'));
  assert.deepEqual(violations.flatMap(rule => rule.nodes.map(node => `${rule.id}: ${node.html.slice(0, 160)} (${node.failureSummary.slice(0, 300)})`)), []);
}

async function assertComplete(page) {
  assert.deepEqual(page.errors, []);
  const text = await page.locator('body').innerText();
  assert.doesNotMatch(text, /undefined|NaN|\[object|\bnull\b/);
}

const openAll = page => page.evaluate(() => { for (const part of document.querySelectorAll('details')) part.open = true; });

for (const [name, settings] of Object.entries(SCREENS)) {
  test(`${name}: accessible, complete, no wider than the screen`, async () => {
    const page = await openPage(browser, hashOf({...QUICK_JOB, price: '2', compare: new URLSearchParams({...QUICK_JOB, gpu: 'A100'})}), settings);
    await finished(page);
    await openAll(page);
    await assertComplete(page);
    const widths = await page.evaluate(() => [document.documentElement.scrollWidth, innerWidth]);
    assert.ok(widths[0] <= widths[1], `${widths[0]} of ${widths[1]} px`);
    await assertAccessible(page);
    await page.context().close();
  });
}

test('on paper: accessible, complete, without buttons', async () => {
  const page = await openPage(browser, hashOf({...QUICK_JOB, price: '2'}));
  await finished(page);
  await openAll(page);
  await page.emulateMedia({media: 'print'});
  await assertComplete(page);
  await assertAccessible(page);
  assert.equal(await page.locator('.buttons:visible').count(), 0);
  await page.context().close();
});

test('a language model: its loss against days, for its own batch and two others; none for images', async () => {
  const job = {model: 'llama3_8b', gpu: 'H100', gpus: '256', global_batch: '1000', tokens: '1T', price: '2', context: '1'};
  const page = await openPage(browser, hashOf(job));
  await finished(page);
  const loss = page.locator('#loss');
  assert.match(await loss.innerText(), /batch of 2.05M tokens[^]*batch of 8.19M tokens[^]*batch of 32.8M tokens/);
  const rows = await loss.locator('tbody tr').allInnerTexts();
  assert.equal(rows.length, 6);
  const own = rows.find(row => row.startsWith('1T')).split('\t');
  assert.match(own[3], /^[0-9,]{5,}$/);  // USD
  // The row of the job's tokens is the answer above, without its interruptions.
  const [days] = /in ([0-9.]+) d/.exec(await lead(page)).slice(1);
  assert.ok(parseFloat(own[2]) <= parseFloat(days) && parseFloat(own[2]) > 0.98 * parseFloat(days), `${own[2]} of ${days} d`);
  assert.deepEqual(page.errors, []);
  await page.goto(page.url().split('#')[0] + '#' + hashOf({...job, model: 'resnet50', global_batch: '', tokens: '', batch: '64', epochs: '90'}).replace(/^#/, ''));
  await page.reload();
  await finished(page);
  assert.equal(await loss.isVisible(), false);
  await page.context().close();
});

test('a first visit shows a famous training with its published value', async () => {
  const page = await openPage(browser, '');
  assert.match(await lead(page), /trains .* tokens in .* d/);
  assert.match(await page.locator('.published').innerText(), /Published: .*GPU hours/);
  assert.match(await page.locator('#picture').innerText(), /An iteration[^]*Throughput[^]*MFU[^]*Memory of a GPU/);
  await page.context().close();
});

test('every preset is predicted', async () => {
  const page = await openPage(browser, '');
  const ids = await page.locator('#preset option').evaluateAll(list => list.map(option => option.value).filter(Boolean));
  assert.ok(ids.length >= 15, `${ids.length} presets`);
  for (const id of ids) {
    await page.selectOption('#preset', id);
    await answered(page);
    assert.equal(await page.locator('#problem').innerText(), '', id);
  }
  await assertComplete(page);
  await page.context().close();
});

test('every control is reached by Tab and has a name', async () => {
  const page = await openPage(browser);
  await openAll(page);
  const wanted = await page.locator('#controls input, #controls select, #controls button').evaluateAll(list => list.map(one => one.id));
  await page.locator('.skip').focus();
  const reached = new Set();
  for (let at = 0; at < wanted.length + 20; ++at) {
    await page.keyboard.press('Tab');
    reached.add(await page.evaluate(() => document.activeElement.id));
  }
  assert.deepEqual(wanted.filter(id => !reached.has(id)), []);
  const nameless = await page.locator('#controls input, #controls select').evaluateAll(list => list.filter(one => one.labels.length !== 1 || !one.labels[0].textContent).map(one => one.id));
  assert.deepEqual(nameless, []);
  await page.context().close();
});

// A value for each control that its job can take; typed, or chosen by the first letters.
const TYPED = {
  model: 'llama3_8b', gpu: 'H200', gpus: '128', network: '8x XDR', precision: 'fp8', global_batch: '512', tokens: '2T', price: '3', tensor: '4', micro_batch: '2',
  sharding: 'zero2', recompute: 'full', software: 'nemo', gpus_per_node: '8', optimizer: 'adam', no_failures: 'yes', ignore_memory: 'yes', tensor_overlap: 'none',
};

test('controls are used by keyboard alone, each with an answer', async () => {
  const page = await openPage(browser);
  await openAll(page);
  for (const [key, value] of Object.entries(TYPED)) {
    const before = await page.evaluate(() => turn);
    const control = page.locator('#control-' + key);
    await control.focus();
    if (await control.evaluate(one => one.tagName) === 'INPUT') {
      await page.keyboard.press('Control+A');
    }
    await page.keyboard.type(value);
    await page.keyboard.press('Tab');
    await page.waitForFunction(turnBefore => turn > turnBefore, before);
    await answered(page);
    assert.equal(await control.inputValue(), value, key);
    assert.equal(await page.locator('#problem').innerText(), '', key);
    assert.ok((await page.evaluate(() => location.hash)).includes(key + '=' + new URLSearchParams({v: value}).toString().slice(2)), key);
  }
  await page.context().close();
});

test('a wrong value gets the predictor’s own words and marks its control', async () => {
  const page = await openPage(browser);
  await page.fill('#control-gpu', 'H1000');
  await answered(page);
  assert.match(await page.locator('#problem').innerText(), /H1000.*not known|H1000/);
  await page.fill('#control-gpu', 'H100');
  await page.fill('#control-gpus', '0');
  await answered(page);
  assert.match(await page.locator('#problem').innerText(), /--gpus/);
  assert.equal(await page.locator('#control-gpus').getAttribute('aria-invalid'), 'true');
  await page.fill('#control-gpus', '64');
  await answered(page);
  assert.equal(await page.locator('#problem').innerText(), '');
  assert.deepEqual(page.errors, []);
  await page.context().close();
});

test('a link holds the job and the jobs it is compared with', async () => {
  const page = await openPage(browser);
  await page.click('#pin');
  await page.fill('#control-gpu', 'H200');
  await answered(page);
  await finished(page);
  const [said, hash, table] = [await lead(page), await page.evaluate(() => location.hash), await page.locator('#compare table').innerText()];
  assert.match(table, /H200/);
  const other = await openPage(browser, hash);
  await finished(other);
  assert.equal(await lead(other), said);
  assert.equal(await other.locator('#compare table').innerText(), table);
  assert.equal(await other.evaluate(() => location.hash), hash);
  await page.context().close();
  await other.context().close();
});

test('an open split is searched, and a split of the table is taken', async () => {
  const page = await openPage(browser, hashOf({model: 'llama2_7b', gpu: 'H100', gpus: '16', network: '8x NDR', global_batch: '64', tokens: '100B'}));
  await finished(page);
  const rows = page.locator('#splits tbody tr');
  assert.ok(await rows.count() > 1);
  await rows.nth(1).locator('button').press('Enter');
  await answered(page);
  assert.notEqual(await page.locator('#control-tensor').inputValue(), '');
  assert.equal(await page.locator('#problem').innerText(), '');
  await page.locator('#clear-split').press('Enter');
  await answered(page);
  assert.equal(await page.locator('#control-tensor').inputValue(), '');
  assert.notEqual(await page.locator('#control-tensor').getAttribute('placeholder'), '', 'the found split stands in the empty controls');
  await page.context().close();
});

test('what-ifs, scaling and the timeline come by themselves', async () => {
  const page = await openPage(browser, hashOf({model: 'resnet50', gpu: 'H100', gpus: '16', batch: '64', network: '100 GbE'}));
  await finished(page);
  assert.match(await page.locator('#what-ifs').innerText(), /twice the GPUs, 32/);
  assert.ok(await page.locator('#scaling svg.curve circle').count() >= 4);
  assert.ok(await page.locator('#timeline svg rect').count() > 5);
  await page.locator('#what-ifs button.link').first().press('Enter');
  await answered(page);
  assert.equal(await page.locator('#control-gpus').inputValue(), '32');
  await page.context().close();
});

test('a pipeline’s stages are drawn, each with its passes', async () => {
  const page = await openPage(browser, hashOf({...QUICK_JOB, pipeline: '4', schedule: '1f1b', global_batch: '512'}));
  await finished(page);
  assert.equal(await page.locator('#timeline svg text').filter({hasText: /^stage \d/}).count(), 4);
  const passes = await page.locator('#timeline svg rect.look-0').count();
  assert.ok(passes > 4, `${passes} forward passes`);
  assert.match(await page.locator('#time').innerText(), /Pipeline bubble/);
  await page.context().close();
});

test('another model forgets the split that was found', async () => {
  const page = await openPage(browser, hashOf({model: 'llama2_7b', gpu: 'H100', gpus: '16', network: '8x NDR', global_batch: '64'}));
  await finished(page);
  await page.fill('#control-global_batch', '');
  await page.fill('#control-batch', '64');
  await page.fill('#control-model', 'resnet50');
  await answered(page);
  const plain = await openPage(browser, hashOf({model: 'resnet50', gpu: 'H100', gpus: '16', network: '8x NDR', batch: '64'}));
  assert.equal(await lead(page), await lead(plain));
  await page.context().close();
  await plain.context().close();
});

test('a source is shown to the keyboard', async () => {
  const page = await openPage(browser);
  const value = page.locator('.sourced').first();
  await value.focus();
  assert.ok(await value.locator('.tip').isVisible());
  assert.match(await value.locator('.tip').innerText(), /interval/);
  await page.context().close();
});
