import { Readable } from 'node:stream'
import { sql } from 'kysely'
import { expect, it } from 'vitest'
import { runInProcess } from '../in-process.fixture.ts'
import { startFleet } from './fleet.fixture.ts'

it('rolls back the newest rollout or deployment, one at a time, until none are left', async () => {
  const { svc, world, given, report } = await startFleet(2)
  await svc('deploy', 'm', '-v', '1.0.0', '--yes')
  await report('active', '1.0.0')
  await world.advance(60)
  await svc('deploy', 'm', '-v', '2.0.0', '--devices', 'd1')
  expect(await given()).toEqual({ d0: '1.0.0', d1: '2.0.0' })
  const first = await svc('rollback', 'm')
  expect([first, await given()]).toEqual([
    {
      exitCode: 0,
      stdout: expect.stringMatching(/^Rolled back the deployment of version 2\.0\.0 \([0-9a-f-]{36}\)\.\n$/),
      stderr: 'Each device returns to its previous version, or to none if it had none.\n',
    },
    { d0: '1.0.0', d1: '1.0.0' },
  ])
  const second = await svc('rollback', 'm', '--json')
  expect([second.exitCode, JSON.parse(second.stdout), await given()]).toEqual([
    0,
    { rolled_back: [{ kind: 'rollout', id: expect.any(String), version: '1.0.0' }] },
    { d0: null, d1: null },
  ])
  expect(await svc('rollback', 'm')).toEqual({
    exitCode: 1,
    stdout: '',
    stderr: "svc: 'm' has no rollout or deployment to roll back.\n",
  })
})

it('--to-version gives the version to the whole fleet and rolls back all open plans', async () => {
  const { svc, world, given } = await startFleet(3, ['1.0.0', '2.0.0', '3.0.0'])
  await svc('deploy', 'm', '-v', '2.0.0', '-r', '50', '--yes')
  await world.advance(10)
  await svc('deploy', 'm', '-v', '3.0.0', '--devices', 'd1')
  await world.advance(10)
  const { exitCode, stdout } = await svc('rollback', 'm', '--to-version', '1.0.0')
  expect([exitCode, stdout.replace(/[0-9a-f-]{36}/g, '<id>')]).toEqual([
    0,
    'Rolled back the deployment of version 3.0.0 (<id>).\nRolled back the rollout of version 2.0.0 (<id>).\n' +
      'The whole fleet gets version 1.0.0 (rollout <id>).\n',
  ])
  expect(await given()).toEqual({ d0: '1.0.0', d1: '1.0.0', d2: '1.0.0' })
})

it('--to-version pauses the experiments on the model, which would take precedence', async () => {
  const { svc, given, get } = await startFleet(4, ['1.0.0', '2.0.0', '3.0.0'])
  await svc('experiments', 'create', 'a b', '--variant', 'a=m@2.0.0:0.5', '--variant', 'b=m@3.0.0:0.5')
  await svc('experiments', 'start', 'a b')
  const deployed = await svc('deploy', 'm', '-v', '2.0.0', '--yes')
  expect(deployed.stderr).toContain('Running experiments take precedence on their devices: ')
  expect((await svc('status', 'm')).stdout).toContain('Running experiments take precedence on their devices: ')
  expect((await svc('deploy', 'm', '-v', '1.0.0', '--dry-run')).stderr).toContain('Running experiments take precedence')
  expect((await svc('rollback', 'm')).stderr).toMatch(
    /^Experiment 'a b' continues on its devices: svc experiments pause [0-9a-f-]{36}\n/,
  )
  const { exitCode, stdout } = await svc('rollback', 'm', '--to-version', '1.0.0')
  expect([exitCode, stdout.replace(/[0-9a-f-]{36}/g, '<id>')]).toEqual([
    0,
    "Paused the experiment 'a b' (<id>).\nThe whole fleet gets version 1.0.0 (rollout <id>).\n",
  ])
  expect(await given()).toEqual({ d0: '1.0.0', d1: '1.0.0', d2: '1.0.0', d3: '1.0.0' })
  expect(await get('/experiments')).toMatchObject({
    experiments: [{ status: 'paused', reason: 'svc rollback to 1.0.0' }],
  })
})

it('--to-version finds an unfinished deployment that is older than a thousand others', async () => {
  const { svc, world, given } = await startFleet(2, ['1.0.0', '3.0.0'])
  await svc('deploy', 'm', '-v', '3.0.0', '--devices', 'd0')
  await sql`
    insert into deployments (
      id, model_name, model_version, model_id, status, strategy, percentage, target_count, activated_count, created_at)
    select gen_random_uuid(), d.model_name, '1.0.0', d.model_id, 'rolled_back', d.strategy, 100, 1, 1, d.created_at
    from deployments d, generate_series(1, 1001)`.execute(world.database!.sql)
  expect((await svc('status', 'm')).stdout).toContain('3.0.0')
  const { exitCode, stdout } = await svc('rollback', 'm', '--to-version', '1.0.0')
  expect([exitCode, stdout.split('\n').length]).toEqual([0, 3])
  expect(await given()).toEqual({ d0: '1.0.0', d1: '1.0.0' })
})

it('reports an unknown model or version and changes nothing', async () => {
  const { svc, given } = await startFleet(1)
  await svc('deploy', 'm', '-v', '1.0.0', '--yes')
  expect([
    await svc('rollback', 'nothing'),
    await svc('rollback', 'nothing', '--to-version', '1.0.0'),
    await svc('rollback', 'm', '--to-version', '7.0.0'),
    await svc('rollback'),
  ]).toEqual([
    { exitCode: 1, stdout: '', stderr: expect.stringContaining("Model 'nothing' does not exist") },
    { exitCode: 1, stdout: '', stderr: expect.stringContaining("Model 'nothing' does not exist") },
    { exitCode: 1, stdout: '', stderr: "svc: Model 'm' has no version 7.0.0.\nIt has 1.0.0, 2.0.0.\n" },
    { exitCode: 2, stdout: '', stderr: expect.stringContaining("'name'") },
  ])
  expect(await given()).toEqual({ d0: '1.0.0' })
})

it('asks for confirmation only at a terminal, unless --yes is given', async () => {
  const { svc, env, given } = await startFleet(1, ['1.0.0', '2.0.0'])
  const rollback = (input: string, ...argv: string[]) => {
    const stdin = Object.assign(Readable.from([`${input}\n`]), { isTTY: true }) as unknown as NodeJS.ReadableStream
    return runInProcess(['rollback', 'm', ...argv], { env, stdin })
  }
  await svc('deploy', 'm', '-v', '2.0.0', '--yes')
  expect(await rollback('n')).toEqual({
    exitCode: 1,
    stdout: '',
    stderr: "Rolling back the rollout of version 2.0.0 of 'm'. Continue? [y/N] svc: Nothing was changed.\n",
  })
  expect(await rollback('n', '--to-version', '1.0.0')).toMatchObject({
    exitCode: 1,
    stderr: expect.stringContaining("Rolling back 'm' to version 1.0.0 on the whole fleet. Continue? [y/N]"),
  })
  expect(await given()).toEqual({ d0: '2.0.0' })
  expect(await rollback('y', '--to-version', '1.0.0')).toMatchObject({ exitCode: 0 })
  expect(await given()).toEqual({ d0: '1.0.0' })
  expect(await rollback('n', '--yes')).toMatchObject({ exitCode: 0, stderr: expect.not.stringContaining('Continue?') })
  expect(await given()).toEqual({ d0: null })
})
