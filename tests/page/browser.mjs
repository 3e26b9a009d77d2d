// Opens the page in Chromium, for tests, pictures and measurements. LOCKSTEP_BUILD names the folder with lockstep.html.
import fs from 'node:fs';
import {createRequire} from 'node:module';
import path from 'node:path';
import {fileURLToPath, pathToFileURL} from 'node:url';

export const source = path.resolve(path.dirname(fileURLToPath(import.meta.url)), '../..');
export const build = path.resolve(process.env.LOCKSTEP_BUILD || path.join(source, 'build'));
const modules = path.join(build, 'html-test');
const {chromium} = createRequire(path.join(modules, 'x.js'))('playwright-core');
export const axe = () => fs.readFileSync(path.join(modules, 'node_modules/axe-core/axe.min.js'), 'utf8');
export const pageFile = path.join(build, 'lockstep.html');

export const startBrowser = () => chromium.launch({executablePath: process.env.CHROMIUM || '/usr/bin/chromium'});

export const QUICK_JOB = {model: 'llama2_7b', gpu: 'H100', gpus: '64', network: '8x NDR', global_batch: '256', tokens: '1T', tensor: '2', pipeline: '1',
                          context: '1', micro_batch: '1', sharding: 'zero1', recompute: 'none', sequence_parallel: 'yes'};
export const hashOf = job => '#' + new URLSearchParams(job).toString();

// The page with a job, when it has answered; its errors are collected in page.errors.
export async function openPage(browser, hash = hashOf(QUICK_JOB), settings = {}) {
  const context = await browser.newContext({viewport: {width: 1280, height: 900}, ...settings});
  const page = await context.newPage();
  page.errors = [];
  page.on('pageerror', error => page.errors.push(error.stack));
  page.on('request', request => { if (!/^(file|blob|data):/.test(request.url())) page.errors.push('fetched ' + request.url()); });
  await page.goto(pathToFileURL(pageFile).href + hash);
  await answered(page);
  return page;
}

export const answered = page => page.waitForFunction(() => document.getElementById('answer').dataset.answered === String(turn), null, {timeout: 60000});
export const finished = page => page.waitForFunction(() => document.getElementById('answers').dataset.done === String(turn), null, {timeout: 120000});
export const lead = async page => (await page.locator('#lead').innerText()).replaceAll('\u00a0', ' ');
