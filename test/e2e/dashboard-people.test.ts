import { generateSync } from 'otplib'
import { beforeAll, describe, expect, it } from 'vitest'
import { startProvider } from '../../src/control/access/sign-in/provider.fixture.ts'
import { startWorld, type World } from '../world.ts'
import { hasBrowser } from './browser.ts'
import { buildDashboard } from './built-web.ts'
import { expectAccessible, openDashboard } from './dashboard-tab.ts'

const PASSWORD = 'four unrelated words here'

/** The authenticator app's code at a given time. */
const codeOf = (secret: string, at: Date): string => generateSync({ secret, epoch: Math.floor(at.getTime() / 1000) })

let webFolder = ''

let world: World

/** Invites to the organization in the address; returns the link. */
const invite = async (email: string, role: string): Promise<string> => {
  const body = { email, role, org_id: /@(.+)\./.exec(email)![1] }
  const response = await world.request('POST', '/api/v1/team', { key: world.service.firstAdminKey!, body })
  return (response.body as { link: string }).link
}

describe.skipIf(!hasBrowser())('people in the dashboard', () => {
  beforeAll(async () => {
    webFolder = await buildDashboard()
    world = await startWorld({ webFolder, config: { enrollment: 'token' } })
  })

  it('an invited admin joins by the link, signs in with a password, and sees the team; a viewer sees the fleet, but not the team', async () => {
    const link = await invite('ada@acme.example', 'admin')
    const { page, wrong } = await openDashboard(link, '')
    await page.getByRole('heading', { name: 'Join acme' }).waitFor()
    expect(page.url()).toBe(`${world.baseUrl}/`)
    await expectAccessible(page)
    await page.getByLabel('Name').fill('Ada')
    await page.getByLabel('Password').fill(PASSWORD)
    await page.getByRole('button', { name: 'Join' }).click()
    await page.getByRole('heading', { name: 'Sign in to Tributary' }).waitFor()
    await page.getByText('Your account is ready.').waitFor()
    expect(await page.getByLabel('Email').inputValue()).toBe('ada@acme.example')
    await expectAccessible(page)
    await page.getByLabel('Password').fill(PASSWORD)
    await page.getByRole('button', { name: 'Sign in' }).click()
    await page.getByText('ada@acme.example · acme').waitFor()
    await page.getByRole('link', { name: 'Organization' }).click()
    await page.getByRole('cell', { name: 'ada@acme.example', exact: true }).waitFor()
    expect(wrong()).toEqual([])

    await page.getByRole('button', { name: 'Sign out' }).click()
    await page.getByRole('heading', { name: 'Sign in to Tributary' }).waitFor()
    await page.goto(await invite('vic@acme.example', 'viewer'))
    await page.getByLabel('Password').fill(PASSWORD)
    await page.getByRole('button', { name: 'Join' }).click()
    await page.getByRole('heading', { name: 'Sign in to Tributary' }).waitFor()
    await page.getByLabel('Password').fill('another password')
    await page.getByRole('button', { name: 'Sign in' }).click()
    await page.getByRole('alert').waitFor()
    await page.getByLabel('Password').fill(PASSWORD)
    await page.getByRole('button', { name: 'Sign in' }).click()
    await page.getByText('vic@acme.example · acme').waitFor()
    await page.getByRole('link', { name: 'Organization' }).click()
    await page.getByText("Your role lacks the scope 'admin'").first().waitFor()
    await page.getByRole('link', { name: 'Keys' }).click()
    await page.getByText('only your own').waitFor()
    await page.getByText('You have no keys of this kind').waitFor()
    await page.getByRole('link', { name: 'Training', exact: true }).click()
    const training = page.getByRole('button', { name: 'Start training' })
    await expect.poll(() => training.isDisabled()).toBe(true)
    expect(await training.getAttribute('title')).toBe('This requires the scope training:write.')
    await page.getByRole('link', { name: 'Devices' }).click()
    await page.getByText('No device').first().waitFor()
  })

  it('a person who must have a second factor sets it up, signs in with it, and sees their account', async () => {
    const link = await invite('ada@beta.example', 'admin')
    const key = world.service.firstAdminKey!
    await world.request('PATCH', '/api/v1/team/policy', { key, body: { org_id: 'beta', require_mfa: 'all' } })
    const { page } = await openDashboard(link, '')
    await page.getByLabel('Password').fill(PASSWORD)
    await page.getByRole('button', { name: 'Join' }).click()
    await page.getByRole('heading', { name: 'Sign in to Tributary' }).waitFor()
    const signIn = async () => {
      await page.getByLabel('Email').fill('ada@beta.example')
      await page.getByLabel('Password').fill(PASSWORD)
      await page.getByRole('button', { name: 'Sign in', exact: true }).click()
    }
    await signIn()
    await page.getByRole('heading', { name: 'Set up a second factor' }).waitFor()
    await page.getByRole('button', { name: 'Set up an authenticator app' }).click()
    await page.getByRole('img', { name: 'QR code for an authenticator app' }).waitFor()
    await expectAccessible(page)
    const secret = await page.locator('code').first().textContent()
    await page.getByRole('textbox', { name: 'Code' }).fill(codeOf(secret!, world.now()))
    await page.getByRole('button', { name: 'Confirm' }).click()
    await page.getByText('Keep these recovery codes').waitFor()
    await page.getByRole('button', { name: 'I have saved them' }).click()
    await page.getByText('ada@beta.example · beta').waitFor()

    await page.getByRole('link', { name: 'Organization' }).click()
    await page.getByRole('link', { name: 'My account' }).click()
    await page.getByText('9 recovery codes').or(page.getByText('10 recovery codes')).waitFor()
    await expectAccessible(page)
    await page.getByRole('button', { name: 'Remove the app' }).click()
    await page.getByRole('dialog', { name: 'Remove the app?' }).getByRole('button', { name: 'Cancel' }).click()
    await page.getByRole('button', { name: 'Create new recovery codes' }).click()
    await page.getByRole('dialog').getByRole('button', { name: 'Create' }).click()
    await page.getByText('Keep these recovery codes').waitFor()
    const [recoveryCode] = await page.locator('code').allTextContents()
    await page.getByRole('button', { name: 'I have saved them' }).click()
    await page.getByRole('button', { name: 'Remove the app' }).waitFor()
    await page.getByRole('button', { name: 'Sign out' }).click()
    await page.getByRole('button', { name: 'Use email and password' }).click()
    await signIn()
    await page.getByRole('heading', { name: 'Second factor' }).waitFor()
    await page.getByLabel('Code from your authenticator app').fill('000000')
    await page.getByRole('button', { name: 'Sign in' }).click()
    await page.getByRole('alert').waitFor()
    await page.getByRole('button', { name: 'Use a recovery code' }).click()
    await page.getByLabel('Recovery code').fill(recoveryCode!)
    await page.getByRole('button', { name: 'Sign in' }).click()
    await page.getByText('ada@beta.example · beta').waitFor()
  })

  it('svc login goes to the identity provider and back, which signs in invited people', async () => {
    const provider = await startProvider()
    const withProvider = await startWorld({ webFolder, config: { enrollment: 'token', oidc: provider.settings } })
    await provider.open(withProvider.baseUrl)
    provider.setUser({ sub: 'u-1', email: 'ada@acme.example', name: 'Ada' })
    const requested = `code_challenge=${'x'.repeat(43)}&redirect_uri=http://127.0.0.1:1/callback&state=${'s'.repeat(16)}`
    const { page } = await openDashboard(withProvider.baseUrl, `/login?${requested}`)
    await page.getByRole('link', { name: 'sign in' }).click()
    await page.getByRole('heading', { name: 'Sign in to Tributary' }).waitFor()
    await expectAccessible(page)
    const useProvider = page.getByRole('button', { name: 'Use 127.0.0.1:' })
    await useProvider.click()
    await page.getByRole('heading', { name: 'Not signed in' }).waitFor()
    await page.getByText('There is no invitation for ada@acme.example').waitFor()
    expect(page.url()).toBe(`${withProvider.baseUrl}/`)
    await expectAccessible(page)
    await page.getByRole('button', { name: 'Back' }).click()

    const body = { email: 'ada@acme.example', role: 'viewer', org_id: 'acme' }
    await withProvider.request('POST', '/api/v1/team', { key: withProvider.service.firstAdminKey!, body })
    await useProvider.click()
    await page.getByText('You are signed in as ada@acme.example of acme.').waitFor()
    expect(page.url()).toBe(`${withProvider.baseUrl}/login?${requested}`)
    await page.goto(`${withProvider.baseUrl}/?next=https://evil.example/login`)
    await page.getByText('ada@acme.example · acme').waitFor()
  })

  it('a passkey is set up if a second factor is required, signs in, confirms, and is renamed and removed', async () => {
    const key = world.service.firstAdminKey!
    const link = (await invite('ada@gamma.example', 'admin')).replace('127.0.0.1', 'localhost')
    await world.request('PATCH', '/api/v1/team/policy', { key, body: { org_id: 'gamma', require_mfa: 'all' } })
    const { page, context } = await openDashboard(link, '')
    const cdp = await context.newCDPSession(page)
    await cdp.send('WebAuthn.enable')
    const options = {
      protocol: 'ctap2',
      transport: 'internal',
      hasResidentKey: true,
      hasUserVerification: true,
    } as const
    const { authenticatorId } = await cdp.send('WebAuthn.addVirtualAuthenticator', {
      options: { ...options, isUserVerified: true, automaticPresenceSimulation: true },
    })
    await page.getByLabel('Password').fill(PASSWORD)
    await page.getByRole('button', { name: 'Join' }).click()
    await page.getByRole('heading', { name: 'Sign in to Tributary' }).waitFor()
    await page.getByLabel('Password').fill(PASSWORD)
    await page.getByRole('button', { name: 'Sign in', exact: true }).click()
    await page.getByRole('heading', { name: 'Set up a second factor' }).waitFor()
    await page.getByLabel('Name of the passkey').fill('Laptop')
    await page.getByRole('button', { name: 'Add a passkey' }).click()
    await page.getByText('Keep these recovery codes').waitFor()
    await page.getByRole('button', { name: 'I have saved them' }).click()
    await page.getByText('ada@gamma.example · gamma').waitFor()
    const { credentials } = await cdp.send('WebAuthn.getCredentials', { authenticatorId })
    expect(credentials).toMatchObject([{ rpId: 'localhost', isResidentCredential: true }])

    await page.getByRole('button', { name: 'Sign out' }).click()
    await page.getByRole('heading', { name: 'Sign in to Tributary' }).waitFor()
    // Without user verification, the passkey does not sign in.
    const passkey = page.getByRole('button', { name: 'Use a passkey' })
    await cdp.send('WebAuthn.setUserVerified', { authenticatorId, isUserVerified: false })
    await passkey.click()
    await page.getByRole('alert').getByText('No passkey was used: you canceled').waitFor()
    await cdp.send('WebAuthn.setUserVerified', { authenticatorId, isUserVerified: true })
    await expectAccessible(page)
    await passkey.click()
    await page.getByText('ada@gamma.example · gamma').waitFor()

    await world.advance(11 * 60)
    await page.getByRole('link', { name: 'Organization' }).click()
    await page.getByRole('link', { name: 'My account' }).click()
    await page.getByRole('button', { name: 'Rename Laptop' }).click()
    await page.getByRole('dialog').getByLabel('Name').fill('Key ring')
    await page.getByRole('dialog').getByRole('button', { name: 'Rename' }).click()
    await page.getByRole('cell', { name: 'Key ring', exact: true }).waitFor()
    await expectAccessible(page)
    await page.getByLabel('Name of the passkey').fill('Again')
    await page.getByRole('button', { name: 'Add a passkey' }).click()
    await page.getByRole('heading', { name: 'Confirm it’s you' }).waitFor()
    await expectAccessible(page)
    await passkey.click()
    await page.getByText('Your account already has a passkey from this authenticator.').waitFor()
    await page.getByRole('button', { name: 'Remove Key ring' }).click()
    const confirmed = page.getByRole('dialog').getByRole('button', { name: 'Remove' })
    await confirmed.click()
    await page.getByText('this is your last').waitFor()
    await world.request('PATCH', '/api/v1/team/policy', { key, body: { org_id: 'gamma', require_mfa: 'off' } })
    await confirmed.click()
    await page.getByRole('cell', { name: 'Key ring', exact: true }).waitFor({ state: 'detached' })
  })
})
