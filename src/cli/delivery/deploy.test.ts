import { Readable } from 'node:stream'
import { expect, it } from 'vitest'
import { createModel } from '../../../test/fleet-of-models.ts'
import { boundOrganizations } from '../../../test/organizations.ts'
import { bucketOf } from '../../domain/bucket.ts'
import { runInProcess } from '../in-process.fixture.ts'
import { startFleet } from './fleet.fixture.ts'

const openOrganization = boundOrganizations()
const joinFleet = async (devices: number, versions?: readonly string[]) =>
  startFleet(devices, versions, await openOrganization())

const uuid = '[0-9a-f-]{36}'

it('deploys to the whole fleet by a rollout, which climbs from its first percentage to 100', async () => {
  const { svc, world, fleet, get, given, report } = await joinFleet(10)
  await svc('deploy', 'm', '--version', '1.0.0', '--yes')
  await report('active', '1.0.0')
  const { stdout, ...rest } = await svc('deploy', 'm', '--rollout', '10', '--step', '30', '--interval', '5', '-y')
  expect(rest).toEqual({ exitCode: 0, stderr: 'Watch it with: svc status m --watch\n' })
  expect(stdout).toMatch(
    new RegExp(
      `^Rollout: +${uuid}\nModel: +m\nVersion: +2.0.0\n` +
        'Reaches: +10% of the fleet, 30% more every 5 min while it is healthy\nIf it fails: +it is rolled back automatically\n$',
    ),
  )
  const id = /^Rollout: +(\S+)$/m.exec(stdout)![1]!
  const inside = (percentage: number) =>
    Object.fromEntries(fleet.map(({ deviceId }) => [deviceId, bucketOf(deviceId, id) < percentage ? '2.0.0' : '1.0.0']))
  for (const percentage of [10, 40, 70, 100]) {
    expect(await given(), `${percentage}%`).toEqual(inside(percentage))
    await report('active', '2.0.0')
    if (percentage === 70) expect((await svc('status', 'm')).stdout).toMatch(/rollout +2\.0\.0 +active +70 of 100% /)
    await world.advance(300)
  }
  expect(await get(`/models/m/rollouts/${id}`)).toMatchObject({ status: 'completed', percentage: 100 })
})

it('with devices, a group, a platform, or another strategy, it creates a deployment to the matching devices', async () => {
  const { svc, world, key, get } = await startFleet(4)
  await world.register('phone', { platform: 'ios' })
  const group = { org_id: 'acme', name: 'lab' }
  const { id } = (await world.request('POST', '/api/v1/device-groups', { key, body: group })).body as { id: string }
  await world.request('POST', `/api/v1/device-groups/${id}/devices`, { key, body: { device_ids: ['d2', 'd3'] } })
  const deploy = async (...argv: string[]) => {
    const { exitCode, stdout } = await svc('deploy', 'm', ...argv, '--json')
    const { kind, target_count, activated_count } = JSON.parse(stdout)
    return [exitCode, kind, target_count, activated_count]
  }
  expect([
    await deploy('--devices', 'd0, d1,d0', '-v', '1.0.0'),
    await deploy('--group', 'lab', '-r', '50'),
    await deploy('--target', 'ios'),
    await deploy('-s', 'blue_green', '--yes'),
    await deploy('-s', 'immediate', '-t', 'ios', '--devices', 'd0,phone'),
  ]).toEqual([
    [0, 'deployment', 2, 2],
    [0, 'deployment', 2, 1],
    [0, 'deployment', 1, 1],
    [0, 'deployment', 5, 5],
    [0, 'deployment', 1, 1],
  ])
  const { deployments } = (await get('/deployments')) as { deployments: { strategy: string; model_version: string }[] }
  expect(deployments.map(({ strategy, model_version }) => [strategy, model_version])).toEqual([
    ['immediate', '2.0.0'],
    ['blue_green', '2.0.0'],
    ['canary', '2.0.0'],
    ['canary', '2.0.0'],
    ['canary', '1.0.0'],
  ])
  expect(((await get('/models/m/rollouts')) as { total: number }).total).toBe(0)
})

it('refuses a name that is not in the catalog and suggests the closest one, also with --phone and --dry-run', async () => {
  const { svc, get, world, key } = await joinFleet(1)
  await createModel(world, key, 'my-model', ['1.0.0'])
  const advice =
    'List models with svc models, or add one with svc push. To deploy a name that devices resolve themselves: --allow-unknown.\n'
  for (const argv of [['--yes'], ['--dry-run'], ['--phone'], ['--devices', 'd0']]) {
    expect(await svc('deploy', 'my-modle', ...argv), argv.join(' ')).toEqual({
      exitCode: 1,
      stdout: '',
      stderr: `svc: The catalog has no model 'my-modle'; did you mean 'my-model'?\n${advice}`,
    })
  }
  expect(await get('/deployments')).toMatchObject({ total: 0 })
  expect((await svc('policies', 'show', 'my-modle')).stderr).toBe(
    "svc: The catalog has no model 'my-modle'; did you mean 'my-model'?\nList models with svc models, or add one with svc push.\n",
  )
})

it('--allow-unknown deploys the name unchanged, with a warning', async () => {
  const { svc } = await joinFleet(1)
  const { exitCode, stdout, stderr } = await svc('deploy', 'ollama:tiny', '--allow-unknown', '--yes')
  expect([exitCode, stdout, stderr]).toEqual([
    0,
    expect.stringMatching(/^Deployment: .+\nStatus: +started\nDevices: +1 of 1\nStrategy: +canary\n$/),
    "The catalog has no model 'ollama:tiny': devices must resolve the name themselves.\n" +
      'Watch it with: svc status ollama:tiny --watch\n',
  ])
  expect((await svc('status', 'ollama:tiny')).stdout).toContain(
    'not in the catalog: devices resolve the name themselves',
  )
})

it('deploys to the whole fleet only after confirmation, at the terminal or with --yes', async () => {
  const { env, get } = await joinFleet(2)
  const deploy = (input: string | null, ...argv: string[]) => {
    const stdin = Object.assign(Readable.from(input === null ? [] : [`${input}\n`]), { isTTY: input !== null })
    return runInProcess(['deploy', 'm', ...argv], { env, stdin: stdin as unknown as NodeJS.ReadableStream })
  }
  const asking = (extent: string): string => `Deploying 'm' to ${extent} (active devices now: 2)`
  const question = asking('the whole fleet at once')
  for (const [extent, ...argv] of [
    ['the whole fleet at once'],
    ['the whole fleet at once', '-s', 'immediate'],
    ['the whole fleet, beginning with 10%', '-r', '10'],
    ['10% of the fleet', '-r', '10', '-s', 'immediate'],
    ['the whole fleet at once', '--json'],
  ] as const) {
    expect(await deploy(null, ...argv), argv.join(' ')).toEqual({
      exitCode: 2,
      stdout: '',
      stderr: `svc: ${asking(extent)} needs a confirmation, and there is no terminal on which svc could ask for it.\nConfirm it with --yes.\n`,
    })
  }
  expect(await deploy('n')).toEqual({
    exitCode: 1,
    stdout: '',
    stderr: `${question}. Continue? [y/N] svc: Nothing was changed.\n`,
  })
  expect(await get('/models/m/rollouts')).toMatchObject({ total: 0 })
  expect(await deploy('yes', '-r', '10')).toMatchObject({ exitCode: 0, stdout: expect.stringContaining('Rollout: ') })
  expect(await deploy(null, '--devices', 'd0')).toMatchObject({ exitCode: 0 })
  expect(await get('/models/m/rollouts')).toMatchObject({ total: 1 })
})

it('a dry run counts each device once; a rollout also counts inactive devices', async () => {
  const { svc, world } = await joinFleet(3)
  await world.advance(600)
  await world.register('new')
  expect((await svc('deploy', 'm', '--dry-run')).stdout).toMatch(/^Targets: +4, of which 1 are active now: new$/m)
  const deployment = await svc('deploy', 'm', '-s', 'immediate', '--dry-run')
  expect(deployment).toMatchObject({ exitCode: 0, stderr: 'Nothing was changed.\n' })
  expect(deployment.stdout).toMatch(/^Targets: +1: new$/m)
})

it('a dry run shows targets, steps, and warnings, and changes nothing', async () => {
  const { svc, get } = await joinFleet(4)
  const rollout = await svc('deploy', 'm', '-r', '25', '--step', '25', '--interval', '75', '--dry-run')
  expect(rollout).toEqual({
    exitCode: 0,
    stdout:
      'Model:    m\nVersion:  2.0.0\nHow:      rollout over the whole fleet\nTargets:  4: d0, d1, d2, d3\n\n' +
      'AFTER       REACHES  DEVICES\n0 min       25%      about 1\n75 min      50%      about 2\n2 h 30 min  75%      about 3\n3 h 45 min  100%     about 4\n',
    stderr: 'Nothing was changed.\n',
  })
  const seconds = await svc('deploy', 'm', '-r', '25', '--step', '25', '--interval', '0.0167', '--dry-run')
  expect(seconds.stdout).toContain('\n0.01667 min  50% ')
  expect(await svc('deploy', 'm', '--devices', 'd0,d1,ghost', '-r', '50', '--dry-run', '-v', '9.0.0')).toEqual({
    exitCode: 0,
    stdout:
      'Model:    m\nVersion:  9.0.0\nHow:      deployment, canary\nTargets:  2: d0, d1\n' +
      "50% of them: 1. The deployment's id decides which.\n",
    stderr:
      'Unknown devices: ghost.\nVersion 9.0.0 has not been uploaded yet: devices get nothing until it is.\nNothing was changed.\n',
  })
  const nobody = await svc('deploy', 'm', '--group', 'nobody', '--dry-run', '--json')
  expect([nobody.exitCode, JSON.parse(nobody.stdout), nobody.stderr]).toEqual([
    1,
    {
      dry_run: true,
      kind: 'deployment',
      ok: false,
      target_count: 0,
      resolved_targets: [],
      warnings: ['Unknown group: nobody.', 'No target device was found.'],
      rollout_percentage: 100,
      activated_count: 0,
    },
    'svc: There is no device to deploy to.\n',
  ])
  expect([await get('/deployments'), await get('/models/m/rollouts')]).toMatchObject([{ total: 0 }, { total: 0 }])
})

it('invalid arguments are wrong usage, and the error names the option', async () => {
  const { svc, get } = await joinFleet(1)
  const cases: readonly (readonly [argv: readonly string[], said: string])[] = [
    [[], "'name'"],
    [['m', '--rollout', '0'], 'from 1 to 100'],
    [['m', '--rollout', '101'], '--rollout'],
    [['m', '--rollout', '1.5'], '--rollout'],
    [['m', '--strategy', 'hope'], '--strategy'],
    [['m', '--target', 'linux'], '--target'],
    [['m', '--devices', 'a,,b'], '--devices'],
    [['m', '--step', '0'], '--step'],
    [['m', '--interval', '0'], '--interval'],
    [['m', '--devices', 'd0', '--interval', '5'], '--interval applies to rollouts only'],
    [['m', '-s', 'immediate', '--step', '5'], 'For a rollout to a group, use: svc rollouts create'],
    [['m', '--phone', '--devices', 'd0'], '--phone'],
    [['m', '--phone', '--rollout', '10'], '--phone'],
  ]
  for (const [argv, input] of cases) {
    expect(await svc('deploy', ...argv), argv.join(' ')).toEqual({
      exitCode: 2,
      stdout: '',
      stderr: expect.stringContaining(input),
    })
  }
  expect(await get('/models/m/rollouts')).toMatchObject({ total: 0 })
})

it('reports a model without versions and a fleet without devices', async () => {
  const { svc } = await joinFleet(1, [])
  expect(await svc('deploy', 'm', '--yes')).toMatchObject({
    exitCode: 1,
    stderr: expect.stringContaining('the model has no version yet'),
  })
  expect(await svc('deploy', 'm', '--devices', 'ghost')).toMatchObject({
    exitCode: 1,
    stderr: expect.stringContaining('There is no device to deploy to. Unknown devices: ghost.'),
  })
})
