// Pictures of a page's top: node screenshots.mjs BUILD PAGE.html OUT gives OUT-desktop.png, OUT-dark.png and OUT-phone.png.
import {createRequire} from 'node:module';
import path from 'node:path';
import {pathToFileURL} from 'node:url';

const [build, pageFile, out] = process.argv.slice(2);
const {chromium} = createRequire(path.resolve(build, 'html-test', 'x.js'))('playwright-core');
const browser = await chromium.launch({executablePath: process.env.CHROMIUM || '/usr/bin/chromium'});
for (const [name, width, height, colorScheme] of [['desktop', 1280, 2160, 'light'], ['dark', 1280, 2160, 'dark'], ['phone', 390, 1700, 'light']]) {
  const page = await browser.newPage({viewport: {width, height}, colorScheme});
  await page.goto(pathToFileURL(path.resolve(pageFile)).href);
  await page.waitForFunction(() => [...document.querySelectorAll('canvas')].every(canvas => Chart.getChart(canvas)));
  await page.screenshot({path: `${out}-${name}.png`});
}
await browser.close();
