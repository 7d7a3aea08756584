// `node scripts/screenshots.mjs <address>` writes docs/screenshots from a service that runs the demo (`npm run demo -- --keep`).
import { fileURLToPath } from 'node:url'
import { chromium } from 'playwright-core'

const [address = 'http://127.0.0.1:8000'] = process.argv.slice(2)
const folder = fileURLToPath(new URL('../docs/screenshots', import.meta.url))
const KINDS = [
  { name: 'light', viewport: { width: 1200, height: 720 }, colorScheme: 'light' },
  { name: 'phone-dark', viewport: { width: 390, height: 844 }, colorScheme: 'dark' },
]

const browser = await chromium.launch({
  executablePath: process.env.CHROME_BIN ?? '/usr/bin/chromium',
  args: ['--no-sandbox'],
})
for (const { name, ...options } of KINDS) {
  const page = await (await browser.newContext(options)).newPage()
  const shoot = async (title) => {
    await page.waitForLoadState('networkidle').catch(() => undefined)
    await page.locator('[role=status][aria-label=Loading]').first().waitFor({ state: 'detached' })
    await page.screenshot({ path: `${folder}/${title}-${name}.png` })
  }
  page.setDefaultTimeout(5000)
  await page.goto(address)
  await page.getByText('Lately').waitFor()
  await shoot('home')
  await page.goto(`${address}/training`)
  await page.getByRole('link', { name: 'demo', exact: true }).first().click()
  await page.locator('figure canvas').first().waitFor()
  await shoot('job')
  await page
    .getByRole('link', { name: /^Round / })
    .first()
    .click()
  await page.getByRole('table', { name: 'Participants' }).waitFor()
  await shoot('round')
  await page.goto(`${address}/docs/searchDevices`)
  await page.getByRole('button', { name: 'Send GET' }).click()
  await page.getByRole('region', { name: 'response body' }).waitFor()
  await shoot('api')
  await page.goto(`${address}/playground?temperature=0`)
  await page.getByRole('heading', { level: 1 }).waitFor()
  // There where the service knows an inference server.
  const message = page.getByLabel('Message')
  if (await message.isVisible()) {
    await message.fill('What is the capital of France?')
    await message.press('Enter')
    await page.getByText(/tokens\/s$/).waitFor()
    await shoot('playground')
  }
}
await browser.close()
