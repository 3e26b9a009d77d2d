// node screenshots.mjs OUT: pictures of the page with its first preset, OUT-desktop.png, -dark, -phone and -print, and of
// images with a timeline and a comparison, OUT-compare.png. LOCKSTEP_BUILD names the folder with lockstep.html.
import {finished, hashOf, openPage, startBrowser} from './browser.mjs';

const out = process.argv[2];
const image = {model: 'resnet50', gpu: 'H100', gpus: '64', batch: '128', network: '100 GbE', epochs: '90'};
const VIEWS = {
  desktop: ['', {viewport: {width: 1280, height: 1000}}], dark: ['', {viewport: {width: 1280, height: 1000}, colorScheme: 'dark'}],
  phone: ['', {viewport: {width: 360, height: 780}}], print: ['', {viewport: {width: 794, height: 1123}}],
  compare: [hashOf({...image, compare: new URLSearchParams({...image, gpu: 'A100'})}), {viewport: {width: 1280, height: 1000}}],
};
const browser = await startBrowser();
for (const [name, [hash, settings]] of Object.entries(VIEWS)) {
  const page = await openPage(browser, hash, settings);
  await finished(page);
  if (name === 'print') await page.emulateMedia({media: 'print'});
  await page.screenshot({path: `${out}-${name}.png`, fullPage: true});
}
await browser.close();
