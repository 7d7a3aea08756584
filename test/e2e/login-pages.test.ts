import { createHash } from 'node:crypto'
import { describe, expect, it } from 'vitest'
import { startWorld } from '../world.ts'
import { hasBrowser } from './browser.ts'
import { expectAccessible, openDashboard } from './dashboard-tab.ts'

const VERIFIER = 'v'.repeat(43)
const CHALLENGE = createHash('sha256').update(VERIFIER).digest('base64url')

const start = async () => {
  const world = await startWorld({ config: { enrollment: 'token' } })
  const key = world.service.firstAdminKey!
  const begin = async () => {
    const body = { client_name: 'svc on build-7' }
    return (await world.request('POST', '/api/v1/login/device', { body })).body as Record<string, string>
  }
  const poll = async ({ device_code }: Record<string, string>) => {
    const response = await world.request('POST', '/api/v1/login/device/token', { body: { device_code } })
    return [response.status, (response.body as { error?: string }).error]
  }
  /** Opens a tab at a path, optionally signed in with the key. */
  const open = async (path: string, signedIn = false) => {
    const tab = await openDashboard(world.baseUrl, '/api/v1/health')
    if (signedIn) {
      await tab.page.evaluate(
        (api_key) =>
          fetch('/api/v1/session', {
            method: 'POST',
            headers: { 'content-type': 'application/json' },
            body: JSON.stringify({ api_key }),
          }),
        key,
      )
    }
    await tab.page.goto(`${world.baseUrl}${path}`)
    return tab.page
  }
  return { world, key, begin, poll, open }
}

describe.skipIf(!hasBrowser())('the pages that sign in programs', () => {
  it('a code can be approved with a key or denied with a session, and a wrong or expired one is reported', async () => {
    const { world, key, begin, poll, open } = await start()
    const started = await begin()
    const page = await open('/login/device')
    await expectAccessible(page)
    await page.getByLabel('Your API key').fill(key)
    const code = page.getByLabel('The code that the program shows')
    const next = page.getByRole('button', { name: 'Continue' })
    await code.fill('BCDF-BCDF')
    await next.click()
    await page.getByRole('alert').getByText('No sign-in is waiting for this code').waitFor()
    await expectAccessible(page)
    await code.fill(started.user_code!.toLowerCase().replace('-', ''))
    await next.click()
    await page.getByText('svc on build-7').waitFor()
    await expectAccessible(page)
    await page.getByRole('button', { name: 'Approve' }).click()
    await page.getByRole('heading', { name: 'Signed in', exact: true }).waitFor()
    await expectAccessible(page)
    expect(await poll(started)).toEqual([200, undefined])

    const denied = await begin()
    const other = await open(`/login/device?user_code=${denied.user_code}`, true)
    await other.getByText('You are signed in with the key').waitFor()
    expect(other.url()).toBe(`${world.baseUrl}/login/device`)
    expect(await other.getByLabel('Your API key').count()).toBe(0)
    await other.getByRole('button', { name: 'Continue' }).click()
    await other.getByRole('button', { name: 'Deny' }).click()
    await other.getByRole('heading', { name: 'Denied' }).waitFor()
    expect(await poll(denied)).toEqual([400, 'access_denied'])

    const late = await begin()
    await world.advance(601)
    await other.goto(`${world.baseUrl}/login/device?user_code=${late.user_code}`)
    await other.getByRole('button', { name: 'Continue' }).click()
    await other.getByRole('alert').getByText('older than 10 minutes').waitFor()
  })

  it('svc login can be approved with a session, and an invalid key is refused', async () => {
    const { world, open } = await start()
    const query = new URLSearchParams({
      code_challenge: CHALLENGE,
      redirect_uri: `${world.baseUrl}/api/v1/health`,
      state: 's'.repeat(16),
    })
    const page = await open(`/login?${query}`)
    await page.getByLabel('Your API key').fill(`sk_live_${'0'.repeat(32)}`)
    await page.getByRole('button', { name: 'Approve' }).click()
    await page.getByRole('alert').getByText('not valid').waitFor()
    await expectAccessible(page)
    const link = page.getByRole('link', { name: 'sign in' })
    expect(await link.getAttribute('href')).toBe(`/?next=${encodeURIComponent(`/login?${query}`)}`)

    const signedIn = await open(`/login?${query}`, true)
    await signedIn.getByText('You are signed in with the key').waitFor()
    await expectAccessible(signedIn)
    await signedIn.getByRole('button', { name: 'Approve' }).click()
    await signedIn.waitForURL(/\/api\/v1\/health\?code=/)
    const code = new URL(signedIn.url()).searchParams.get('code')
    const body = { code, code_verifier: VERIFIER }
    expect((await world.request('POST', '/api/v1/login/token', { body })).status).toBe(200)
  })
})
