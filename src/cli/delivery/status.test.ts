import { expect, it } from 'vitest'
import { boundOrganizations } from '../../../test/organizations.ts'
import { runInProcess } from '../in-process.fixture.ts'
import { Interrupted } from '../io.ts'
import { startFleet } from './fleet.fixture.ts'

const openOrganization = boundOrganizations()
const joinFleet = async (devices: number, versions?: readonly string[]) =>
  startFleet(devices, versions, await openOrganization())

const rows = (text: string) => text.split('\n').map((line) => line.split(/ {2,}/))

it('shows the versions, the plans, their devices by state, and the failed devices with reasons', async () => {
  const { svc, world, report } = await startFleet(4)
  expect(rows((await svc('status', 'm')).stdout)).toEqual([
    ['Model:', 'm'],
    ['Id:', expect.stringMatching(/^[0-9a-f-]{36}$/)],
    ['Versions:', '2'],
    [''],
    ['VERSION', 'FORMAT', 'SIZE', 'UPLOADED', 'SHA256'],
    ['2.0.0', 'pytorch', '1 kB', '2026-01-01 00:00', expect.stringMatching(/^[0-9a-f]{12}$/)],
    ['1.0.0', 'pytorch', '1 kB', '2026-01-01 00:00', expect.stringMatching(/^[0-9a-f]{12}$/)],
    [''],
    ['It has no rollout or deployment.'],
    [''],
  ])
  await world.register('silent')
  await svc('deploy', 'm', '-v', '1.0.0', '--yes')
  await report('active', '1.0.0')
  await world.advance(10)
  await svc('deploy', 'm', '-v', '2.0.0', '--devices', 'd0,d1', '-s', 'immediate')
  await world.advance(10)
  await report('failed', '2.0.0', 'no room')
  const { stdout } = await svc('status', 'm')
  expect(rows(stdout.slice(stdout.indexOf('PLAN')))).toEqual([
    ['PLAN', 'VERSION', 'STATUS', 'REACHES', 'NEXT STEP', 'DEVICES', 'ID'],
    ['deployment', '2.0.0', 'failed', '100%', '-', 'failed 2', expect.any(String)],
    ['rollout', '1.0.0', 'active', '100%', '2026-01-01 01:00', 'active 4', expect.any(String)],
    ['2.0.0, failed: 2 of 2 reporting devices failed (the limit is 5%). Most often: no room'],
    [''],
    ['FAILED', 'VERSION', 'REASON'],
    ['d0', '2.0.0', 'no room'],
    ['d1', '2.0.0', 'no room'],
    [''],
  ])
  const { plans, versions, model_name } = JSON.parse((await svc('status', 'm', '--json')).stdout)
  expect([
    model_name,
    versions.length,
    plans.map(({ kind, devices, failures }: never) => [kind, devices, failures]),
  ]).toEqual([
    'm',
    2,
    [
      [
        'deployment',
        expect.objectContaining({ active: 0, failed: 2 }),
        [
          { device_id: 'd0', reason: 'no room' },
          { device_id: 'd1', reason: 'no room' },
        ],
      ],
      ['rollout', { downloading: 0, verifying: 0, ready: 0, active: 4, failed: 0 }, []],
    ],
  ])
})

it('shows the plan that devices return to after a rollback', async () => {
  const { svc, world, report } = await joinFleet(3)
  await svc('deploy', 'm', '-v', '1.0.0', '--yes')
  await report('active', '1.0.0')
  await world.advance(3600)
  await svc('deploy', 'm', '-v', '2.0.0', '--yes')
  await svc('rollback', 'm', '--yes')
  const { plans } = JSON.parse((await svc('status', 'm', '--json')).stdout)
  expect(plans.map(({ version, status }: never) => [version, status])).toEqual([
    ['2.0.0', 'rolled_back'],
    ['1.0.0', 'completed'],
  ])
})

it('watching reports every change, and exits with 1 when the version is rolled back automatically', async () => {
  const { svc, env, world, report, given } = await startFleet(10)
  await svc('deploy', 'm', '-v', '1.0.0', '--yes')
  await report('active', '1.0.0')
  await world.advance(3600)
  await svc('deploy', 'm', '-v', '2.0.0', '-r', '90', '--yes')
  let lines = ''
  let fails: Promise<void> | null = null
  const { exitCode, stderr, stdout } = await runInProcess(['status', 'm', '--watch'], {
    env,
    now: world.now,
    onOutput: (text) => {
      lines += text
      // Once the watch has started, the devices report that they cannot run the version.
      if (lines.includes('2.0.0') && fails === null) fails = report('failed', '2.0.0', 'illegal instruction')
    },
  })
  await fails
  expect([exitCode, stderr]).toEqual([
    1,
    expect.stringMatching(
      /^svc: The rollout of version 2\.0\.0 was rolled back: \d+ of \d+ reporting devices failed \(100\.0%; the limit is 5%\)\. Most often: illegal instruction\n$/,
    ),
  ])
  expect(stdout).toMatch(/01:00:00 {2}rollout of 2\.0\.0: rolled_back at 90 of 100%; devices: failed \d+\n/)
  expect(new Set(Object.values(await given()))).toEqual(new Set(['1.0.0']))
  expect(await svc('status', 'm', '--watch')).toMatchObject({ exitCode, stderr })
})

it('watching with --json prints one document at the end, which says how the plan ended, and changes to stderr', async () => {
  const { svc, env, world, report } = await startFleet(10)
  await svc('deploy', 'm', '-v', '1.0.0', '--yes')
  await report('active', '1.0.0')
  await world.advance(3600)
  await svc('deploy', 'm', '-v', '2.0.0', '-r', '90', '--yes')
  await report('failed', '2.0.0', 'illegal instruction')
  const ended = await runInProcess(['status', 'm', '--watch', '--json'], { env, now: world.now })
  expect(ended.exitCode).toBe(1)
  expect(JSON.parse(ended.stdout).plans[0]).toMatchObject({ version: '2.0.0', status: 'rolled_back' })

  await svc('deploy', 'm', '-v', '2.0.0', '--yes')
  const watching = runInProcess(['status', 'm', '--watch', '--json'], { env, now: world.now })
  await report('active', '2.0.0')
  const { exitCode, stdout } = await watching
  expect(exitCode).toBe(0)
  expect(JSON.parse(stdout).plans[0]).toMatchObject({ version: '2.0.0', status: 'completed' })
})

it('watching ends when the last device reports the version as active, without waiting for the next step', async () => {
  const { svc, env, world, report } = await startFleet(3)
  await svc('deploy', 'm', '--yes')
  let runs: Promise<void> | null = null
  const { exitCode, stdout } = await runInProcess(['status', 'm', '--watch'], {
    env,
    now: world.now,
    onOutput: (text) => {
      if (text.includes('2.0.0') && runs === null) runs = report('active', '2.0.0')
    },
  })
  await runs
  expect(exitCode).toBe(0)
  expect(stdout).toMatch(/00:00:00 {2}rollout of 2\.0\.0: completed at 100%; devices: active 3\n$/)
})

it('watching exits with 1 when the rollout is deleted, and its devices get their previous version', async () => {
  const { svc, env, world } = await joinFleet(1)
  await svc('deploy', 'm', '--yes')
  const { key } = await world.register('operator')
  const { plans, model_id } = JSON.parse((await svc('status', 'm', '--json')).stdout)
  let deleted: Promise<unknown> | null = null
  const { exitCode, stderr } = await runInProcess(['status', 'm', '--watch'], {
    env,
    now: world.now,
    onOutput: (text) => {
      if (text.includes('2.0.0'))
        deleted ??= world.request('DELETE', `/api/v1/models/${model_id}/rollouts/${plans[0].id}`, { key })
    },
  })
  expect(await deleted).toMatchObject({ status: 200 })
  expect([exitCode, stderr]).toEqual([1, 'svc: The rollout of version 2.0.0 was deleted.\n'])
})

it('an interrupted watch says what continues, and how to watch it again', async () => {
  const { svc, env, world } = await joinFleet(1)
  await svc('deploy', 'm', '--yes')
  const stop = new AbortController()
  const { exitCode, stderr } = await runInProcess(['status', 'm', '--watch'], {
    env,
    now: world.now,
    signal: stop.signal,
    onOutput: (text) => {
      if (text.includes('2.0.0')) stop.abort(new Interrupted('SIGINT'))
    },
  })
  expect([exitCode, stderr]).toEqual([130, 'The rollout continues. Watch it with: svc status m --watch\n'])
})

it('shows many plans at once without a warning of a leak', async () => {
  const { env, world, key } = await joinFleet(1)
  for (let n = 0; n < 12; n++) {
    const body = { version: '1.0.0', rollout_percentage: 5 }
    expect(await world.request('POST', '/api/v1/models/m/rollouts', { key, body })).toMatchObject({ status: 201 })
  }
  const warnings: string[] = []
  const onWarning = ({ name }: Error): unknown => warnings.push(name)
  process.on('warning', onWarning)
  const { signal } = new AbortController()
  const { exitCode, stdout } = await runInProcess(['status', 'm'], { env, now: world.now, signal })
  process.off('warning', onWarning)
  expect([exitCode, stdout.split('\n').filter((line) => line.startsWith('rollout')).length]).toEqual([0, 12])
  expect(warnings).toEqual([])
})

it('reports an unknown model', async () => {
  const { svc } = await joinFleet(1)
  expect(await svc('status', 'nothing')).toEqual({
    exitCode: 1,
    stdout: '',
    stderr: expect.stringContaining("The catalog has no model 'nothing'"),
  })
  expect(await svc('status')).toMatchObject({ exitCode: 2 })
})
