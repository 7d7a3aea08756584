import { expect, it } from 'vitest'
import { emptyFolder } from '../../../test/databases.ts'
import { boundOrganizations } from '../../../test/organizations.ts'
import { lockFolders, openAgentState } from '../../agent/agent-state.ts'
import { startFaultyProxy } from '../faulty-proxy.fixture.ts'
import { runInProcess } from '../in-process.fixture.ts'
import { startFleet } from './fleet.fixture.ts'

const openOrganization = boundOrganizations()

const start = async (versions?: readonly string[]) => {
  const fleet = await startFleet(0, versions, await openOrganization())
  const { env, world } = fleet
  let reported: (code: string) => void = () => undefined
  /** Starts `svc deploy --phone`, which runs until the delivery ends; its code is available earlier. */
  const deployToPhone = (...argv: string[]) => {
    const code = new Promise<string>((resolve) => {
      reported = resolve
    })
    let text = ''
    const ended = runInProcess(['deploy', 'm', '--phone', ...argv], {
      env,
      onOutput: (piece) => {
        text += piece
        const found = /^Code: (\S+)$/m.exec(text)?.[1]
        if (found !== undefined) reported(found)
      },
    })
    return { code, ended }
  }
  const phoneHome = await emptyFolder()
  const phone = (...argv: string[]) =>
    runInProcess(argv, { env: { SERVICE_HOME: phoneHome, SERVICE_API_BASE: world.baseUrl } })
  return { ...fleet, deployToPhone, phone, phoneHome }
}

it('a code brings the model to the device that enters it, and both sides show the progress', async () => {
  const { world, deployToPhone, phone, key } = await start()
  const { code, ended } = deployToPhone('--version', '1.0.0')
  const paired = await phone(
    'pair',
    await code,
    '--device-id',
    'pixel',
    '--platform',
    'android',
    '--device-name',
    'Ada',
  )
  expect(paired).toMatchObject({
    exitCode: 0,
    stderr: 'To keep it up to date, keep this running: svc agent --device-id pixel\n',
  })
  expect(paired.stdout.split('\n')[0]).toBe('Paired as pixel.')
  const { exitCode, stdout, stderr } = await ended
  const lines = stdout.trimEnd().split('\n')
  // The device's state at each poll is random; the sequence of states is not.
  expect([exitCode, ...new Set(lines.map((line) => line.replace(/ \(\w+\)/, '')))]).toEqual([
    0,
    `Code: ${await code}`,
    'waiting',
    'paired pixel',
    'deploying pixel',
    'active pixel',
  ])
  expect(stderr).toContain(`Scan it with the phone, or open ${world.baseUrl}/pair?code=${await code}\n`)
  expect(stderr).toMatch(/[█▀▄ ]{20,}\n/)
  const { body } = await world.request('GET', '/api/v1/devices/pixel', { key })
  expect(body).toMatchObject({ platform: 'android', capabilities: { device_name: 'Ada' } })
  // The next time, the same machine is the same device.
  const again = deployToPhone()
  expect(await phone('pair', await again.code, '--device-id', 'pixel', '-p', 'android')).toMatchObject({ exitCode: 0 })
  expect((await again.ended).stdout).toContain('active pixel')
})

it('refuses to pair a device whose agent is running, without using the code', async () => {
  const { world, deployToPhone, phone, phoneHome } = await start()
  const { code, ended } = deployToPhone()
  const { folder, modelsFolder } = await openAgentState(phoneHome, world.baseUrl, 'pixel')
  const release = await lockFolders([folder, modelsFolder])
  const pair = async () => phone('pair', await code, '--device-id', 'pixel')
  expect(await pair()).toMatchObject({
    exitCode: 1,
    stdout: '',
    stderr: expect.stringMatching(
      /^svc: The agent folder .+ is in use by process \d+ on .+\. Stop that process, or pair as another device \(--device-id\)\.\n$/,
    ),
  })
  await release()
  expect(await pair()).toMatchObject({ exitCode: 0 })
  expect((await ended).stdout).toContain('active pixel')
})

it('ends at once when the deployment is withdrawn while the model is being downloaded', async () => {
  const { world, key, deployToPhone, phoneHome } = await start()
  const { code, ended } = deployToPhone()
  const SERVICE_API_BASE = await startFaultyProxy(world, async ({ url }, _, forward) => {
    if (!url!.endsWith('/download')) return forward()
    const { body } = await world.request('GET', '/api/v1/deployments', { key })
    const [{ deployment_id }] = (body as { deployments: [{ deployment_id: string }] }).deployments
    await world.request('POST', `/api/v1/deployments/${deployment_id}/rollback`, { key })
  })
  const env = { SERVICE_HOME: phoneHome, SERVICE_API_BASE }
  expect(await runInProcess(['pair', await code, '--device-id', 'pixel'], { env })).toEqual({
    exitCode: 1,
    stdout: expect.stringMatching(/^Paired as pixel\.\nModel m: downloading version 2\.0\.0, .+\n$/),
    stderr: 'svc: The model was not delivered: its deployment was withdrawn, or replaced by a newer one.\n',
  })
  expect(await ended).toMatchObject({ exitCode: 1 })
})

it('a code that is never entered expires', async () => {
  const { world, deployToPhone } = await start()
  const { code, ended } = deployToPhone()
  await code
  await world.advance(300)
  expect(await ended).toMatchObject({
    exitCode: 1,
    stdout: `Code: ${await code}\nwaiting\nexpired: The code was not used within 5 minutes.\n`,
    stderr: expect.stringContaining('svc: The code was not used within 5 minutes.\nStart again.\n'),
  })
})

it('refuses a wrong code, a used code, and a phone of another platform', async () => {
  const { deployToPhone, phone, world } = await start()
  const { code, ended } = deployToPhone('--target', 'ios')
  expect([
    await phone('pair', '2222-2222'),
    await phone('pair', 'hello'),
    await phone('pair', await code, '--platform', 'android'),
    await phone('pair', await code, '--platform', 'toaster'),
    await phone('pair', await code, '--device-id', ' '),
  ]).toEqual([
    { exitCode: 1, stdout: '', stderr: expect.stringContaining('This pairing code is unknown.') },
    { exitCode: 2, stdout: '', stderr: "svc: 'hello' is not a pairing code.\nCodes look like ABCD-2345.\n" },
    { exitCode: 1, stdout: '', stderr: expect.stringContaining('this code is for a device that runs ios') },
    { exitCode: 2, stdout: '', stderr: expect.stringContaining('--platform') },
    { exitCode: 2, stdout: '', stderr: expect.stringContaining('--device-id') },
  ])
  expect(await phone('pair', await code, '-p', 'ios')).toMatchObject({ exitCode: 0 })
  await ended
  expect(await phone('pair', await code, '-p', 'ios', '--device-id', 'other')).toMatchObject({
    exitCode: 1,
    stderr: expect.stringContaining('This pairing code has been used'),
  })
  expect(world.baseUrl).toMatch(/^http/)
})
