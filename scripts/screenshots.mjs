// `node scripts/screenshots.mjs <address>` writes docs/screenshots from a service that runs the demo (`npm run demo --
// --keep`): each page, light and dark, wide and on a phone. Prints the browser's errors, and pages that are wider than the
// window.
import { mkdir, rm } from 'node:fs/promises'
import { fileURLToPath } from 'node:url'
import { chromium } from 'playwright-core'

const [address = 'http://127.0.0.1:8000'] = process.argv.slice(2)
const folder = fileURLToPath(new URL('../docs/screenshots', import.meta.url))
const SIZES = { wide: { width: 1440, height: 900 }, phone: { width: 390, height: 844 } }

/** By file name: the path, and optionally a link on that page to follow. */
const PAGES = {
  home: ['/'],
  devices: ['/devices'],
  device: ['/devices', 'tbody a'],
  training: ['/training'],
  job: ['/training', 'main a[href^="/training/jobs/"]'],
  round: ['/', 'main a[href^="/training/rounds/"]'],
  models: ['/models'],
  model: ['/models', 'main a[href^="/models/"]'],
  rollouts: ['/delivery'],
  rollout: ['/delivery', 'main a[href*="/rollouts/"]'],
  deployments: ['/delivery/deployments'],
  deployment: ['/delivery/deployments', 'main a[href*="/deployments/"]'],
  policies: ['/delivery/policies'],
  groups: ['/delivery/groups'],
  pairing: ['/delivery/pairing'],
  experiments: ['/experiments'],
  experiment: ['/experiments', 'main a[href^="/experiments/"]'],
  federations: ['/federations'],
  federation: ['/federations', 'main a[href^="/federations/"]'],
  playground: ['/playground'],
  integrations: ['/integrations'],
  team: ['/organization'],
  keys: ['/organization/keys'],
  approvals: ['/organization/approvals'],
  audit: ['/organization/audit'],
  api: ['/docs/searchDevices'],
}

const shoot = async (page, name, [path, link]) => {
  await page.goto(`${address}${path}`)
  await page.getByRole('heading', { level: 1 }).first().waitFor()
  if (link !== undefined) {
    const found = page.locator(link).first()
    const isThere = await found.waitFor({ timeout: 3000 }).then(
      () => true,
      () => false,
    )
    if (!isThere) return console.log(`${name}: no such page here`)
    await found.click()
  }
  await page.waitForLoadState('networkidle', { timeout: 1500 }).catch(() => undefined)
  await page.locator('[role=status][aria-label=Loading]').first().waitFor({ state: 'detached' })
  const wider = await page.evaluate(() => document.documentElement.scrollWidth - document.documentElement.clientWidth)
  if (wider > 0) console.log(`${name}: ${wider} pixels wider than the window`)
  await page.screenshot({ path: `${folder}/${name}.jpg`, type: 'jpeg', quality: 50 })
}

await rm(folder, { recursive: true, force: true })
await mkdir(folder)
const browser = await chromium.launch({
  executablePath: process.env.CHROME_BIN ?? '/usr/bin/chromium',
  args: ['--no-sandbox'],
})
for (const [size, viewport] of Object.entries(SIZES)) {
  for (const colorScheme of ['light', 'dark']) {
    const page = await (await browser.newContext({ viewport, colorScheme })).newPage()
    page.setDefaultTimeout(10_000)
    page.on('console', (message) => message.type() === 'error' && console.log(message.text()))
    page.on('pageerror', (error) => console.log(String(error)))
    for (const [name, way] of Object.entries(PAGES)) await shoot(page, `${name}-${size}-${colorScheme}`, way)
  }
}
await browser.close()
