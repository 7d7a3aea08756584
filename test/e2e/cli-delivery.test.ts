import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { expect, it } from 'vitest'
import { runInProcess } from '../../src/cli/in-process.fixture.ts'
import { emptyFolder } from '../databases.ts'
import { startWorld } from '../world.ts'
import { hookProgram, startAgents } from './agents.ts'
import { operatorOf, registered } from './operator.ts'
import { until } from './service-process.ts'

it('push, deploy at 10%, watch it climb; a failing version rolls back automatically; rollback keeps the good one until --to-version names another', async () => {
  const service = await startWorld({ isRealTime: true })
  const operator = await operatorOf(() => service.baseUrl)
  const cwd = await emptyFolder()
  const env = { SERVICE_HOME: await emptyFolder(), SERVICE_API_KEY: operator.key, SERVICE_API_BASE: service.baseUrl }
  const svc = (...argv: string[]) => runInProcess(argv, { env, cwd })
  const push = async (content: string, version: string) => {
    await writeFile(join(cwd, 'm.onnx'), content)
    expect(await svc('push', 'm.onnx', '--version', version)).toMatchObject({ exitCode: 0 })
  }
  const names = Array.from({ length: 8 }, (_, n) => `edge-${n}`)
  const hook = hookProgram(`
    note "$MODEL_VERSION"
    [ "$(content)" != bad ] || { echo 'the weights are not finite' >&2; exit 1; }`)
  const agents = await startAgents(service.baseUrl, names, () => hook)
  await registered(operator, names)
  const allRun = (version: string) =>
    until(
      () => Promise.all(agents.map(async (agent) => (await agent.notes()).at(-1))),
      (running) => running.every((one) => one === version),
    )

  await push('good', '1.0.0')
  expect(await svc('deploy', 'm', '--yes')).toMatchObject({ exitCode: 0 })
  await Promise.all(agents.map((agent) => agent.line('version 1.0.0 is active')))

  await push('better', '2.0.0')
  const climbing = await svc('deploy', 'm', '--rollout', '10', '--step', '30', '--interval', '0.1', '--yes')
  expect(climbing).toMatchObject({ exitCode: 0 })
  const good = await svc('status', 'm', '--watch')
  expect(good).toMatchObject({ exitCode: 0, stderr: '' })
  expect(good.stdout).toMatch(
    /rollout of 2\.0\.0: active at \d0 of 100%.*\n[\s\S]*rollout of 2\.0\.0: completed at 100%; .*\n$/,
  )
  await allRun('2.0.0')

  await push('bad', '3.0.0')
  // Health needs at least three reports: with 90%, enough devices are included from the start, whatever the rollout's id.
  expect(await svc('deploy', 'm', '--rollout', '90', '--step', '1', '--interval', '1', '--yes')).toMatchObject({
    exitCode: 0,
  })
  const bad = await svc('status', 'm', '--watch')
  expect([bad.exitCode, bad.stderr]).toEqual([
    1,
    expect.stringMatching(
      /^svc: The rollout of version 3\.0\.0 was rolled back: (\d) of \1 reporting devices failed \(100\.0%; the limit is 5%\)\. Most often: the weights are not finite\n$/,
    ),
  ])
  await allRun('2.0.0')

  const output = agents.map((agent) => agent.lines.length)
  expect(await svc('rollback', 'm')).toMatchObject({
    exitCode: 1,
    stderr: expect.stringContaining('was rolled back automatically'),
  })
  expect(await svc('rollback', 'm', '--to-version', '1.0.0')).toMatchObject({ exitCode: 0 })
  await Promise.all(agents.map((agent, n) => agent.line('version 1.0.0 is active', output[n])))
  await allRun('1.0.0')
})
