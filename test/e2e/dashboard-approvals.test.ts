import { beforeAll, describe, expect, it } from 'vitest'
import { openBrowser, PASSWORD, startPeople } from '../../src/control/access/sign-in/people.fixture.ts'
import { formOf } from '../world.ts'
import { hasBrowser } from './browser.ts'
import { buildDashboard } from './built-web.ts'
import { expectAccessible, expectNoSidewaysScroll, openDashboard } from './dashboard-tab.ts'

let webFolder = ''

/** acme, with a model, and admins ada and bob, who approve each other's requests. */
const start = async () => {
  const { world, byKey, join } = await startPeople({ webFolder })
  await byKey('POST', '/orgs', { name: 'acme' })
  for (const name of ['ada', 'bob']) await join(`${name}@acme.example`)
  const ada = openBrowser(world, 'ada')
  await ada.signIn('ada@acme.example')
  await ada.call('PATCH', '/orgs/acme/settings', { require_approval: true })
  const model = (await ada.call('POST', '/models', { name: 'm' })).body.id as string
  await byKey('POST', `/models/${model}/versions/upload`, formOf(Uint8Array.of(1, 2), { version: '1.0.0' }))
  const signIn = async (name: string, path: string) => {
    const tab = await openDashboard(world.baseUrl, path)
    await tab.page.getByRole('button', { name: 'Use email and password' }).click()
    await tab.page.getByLabel('Email').fill(`${name}@acme.example`)
    await tab.page.getByLabel('Password').fill(PASSWORD)
    await tab.page.getByRole('button', { name: 'Sign in' }).click()
    return tab
  }
  return { world, byKey, ada, model, signIn }
}

describe.skipIf(!hasBrowser())('approvals and the audit log in the dashboard', () => {
  beforeAll(async () => {
    webFolder = await buildDashboard()
  })

  it('one admin approves what another requests, which nobody starts or approves before, and both are in the audit log', async () => {
    const { world, byKey, ada, model, signIn } = await start()
    await byKey('POST', '/devices/register', { device_id: 'd0', org_id: 'acme' })
    const made = await ada.call('POST', `/models/${model}/rollouts`, { version: '1.0.0', rollout_percentage: 10 })
    expect(made).toMatchObject({ status: 201, body: { status: 'pending', approval_id: expect.any(String) } })
    const hers = await signIn('ada', '/delivery')
    const row = hers.page.getByRole('row').filter({ hasText: 'm 1.0.0' })
    await row.getByText('0%, target 100%').waitFor()
    expect(await row.getByRole('cell').last().textContent()).toBe('–')
    await row.getByRole('link', { name: 'm 1.0.0' }).click()
    await hers.page.getByRole('link', { name: 'Waiting for approval' }).waitFor()
    expect(await hers.page.getByRole('button', { name: 'Start' }).count()).toBe(0)
    await hers.page.getByRole('link', { name: 'Waiting for approval' }).click()
    await hers.page.getByRole('button', { name: /^Withdraw: / }).click()
    expect(await hers.page.getByRole('button', { name: /^Approve: / }).count()).toBe(0)
    await hers.page.getByRole('dialog').getByRole('button', { name: 'Withdraw' }).click()
    await hers.page.getByText('Nothing is waiting for approval').waitFor()

    await hers.visit(`/models/${model}`)
    await hers.page.getByRole('button', { name: 'Alias of 1.0.0' }).click()
    await hers.page.getByRole('dialog').getByLabel('Alias').fill('production')
    await hers.page.getByRole('dialog').getByRole('button', { name: 'Set alias' }).click()
    const title = "Move the alias 'production' of 'm' from none to version 1.0.0"
    await hers.page.getByRole('cell', { name: title, exact: true }).waitFor()
    await hers.page.getByRole('button', { name: `Withdraw: ${title}` }).waitFor()
    expect(await hers.page.getByRole('button', { name: `Approve: ${title}` }).count()).toBe(0)

    const { page, wrong, visit } = await signIn('bob', '/')
    await page.getByRole('link', { name: title }).click()
    await page.getByRole('cell', { name: title, exact: true }).waitFor()
    await expectAccessible(page)
    await expectNoSidewaysScroll(page)
    await page.getByRole('button', { name: `Reject: ${title}` }).click()
    await expectAccessible(page)
    await page.getByRole('dialog').getByRole('button', { name: 'Cancel' }).click()
    await page.getByRole('button', { name: `Approve: ${title}` }).click()
    await page.getByRole('dialog').getByRole('button', { name: 'Approve' }).click()
    await page.getByText('Nothing is waiting for approval').waitFor()
    expect((await ada.call('GET', `/models/${model}/aliases`)).body.aliases).toMatchObject([{ alias: 'production' }])
    await page.getByLabel('Status').selectOption('all')
    await page.getByText('approved').waitFor()

    await visit('/organization/audit')
    await page.getByRole('cell', { name: 'approveRequest' }).first().waitFor()
    await expectAccessible(page)
    await expectNoSidewaysScroll(page)
    await page.getByLabel('Action').fill('setOrgSettings')
    await page.getByRole('cell', { name: 'approveRequest' }).first().waitFor({ state: 'detached' })
    await page.getByRole('button', { name: /^Show entry/ }).click()
    await page.getByRole('row').filter({ hasText: 'require_approval' }).waitFor()
    await expectAccessible(page)
    await page.getByRole('button', { name: 'Close' }).click()
    const csv = page.waitForEvent('download')
    await page.getByRole('link', { name: 'CSV' }).click()
    expect((await csv).suggestedFilename()).toBe('audit.csv')
    await page.getByRole('button', { name: 'Verify' }).click()
    await page.getByText('Every entry fits the one before it.').waitFor()
    await page.getByRole('button', { name: 'Close' }).click()
    await world.database!.sql.updateTable('audit_entries').set({ action: 'forged' }).where('seq', '=', 2).execute()
    await page.getByRole('button', { name: 'Verify' }).click()
    await page.getByText('The log was changed.').waitFor()
    await expectAccessible(page)
    expect(wrong()).toEqual([])
  })
})
