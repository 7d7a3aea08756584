import { expect, it } from 'vitest'
import { emptyFolder } from '../../../test/databases.ts'
import { formOf, startWorld } from '../../../test/world.ts'
import { runInProcess } from '../in-process.fixture.ts'

const start = async () => {
  const world = await startWorld()
  const { key } = await world.register('operator')
  await world.request('POST', '/api/v1/models', { key, body: { name: 'net' } })
  for (const label of ['1.3.0', '1.4.0']) {
    await world.request('POST', '/api/v1/models/net/versions/upload', {
      key,
      body: formOf(`weights ${label}`, { version_label: label }, 'w.h5'),
    })
  }
  const env = { SERVICE_HOME: await emptyFolder(), SERVICE_API_KEY: key, SERVICE_API_BASE: world.baseUrl }
  const cwd = await emptyFolder()
  return (line: string) => runInProcess(line.split(' '), { env, cwd })
}

it('promotes a version, and then accepts the alias wherever a version is expected', async () => {
  const svc = await start()
  expect(await svc('models promote net 1.3.0 production')).toEqual({
    exitCode: 0,
    stdout: 'net@production is now version 1.3.0.\n',
    stderr: 'Deploy it with: svc deploy net@production\n',
  })
  expect((await svc('models promote net 1.3.0 production')).stdout).toBe('net@production is already version 1.3.0.\n')
  expect((await svc('pull net@production')).stdout).toContain('Version:  1.3.0')
  expect((await svc('pull net --version production -o again.h5')).stdout).toContain('Version:  1.3.0')
  expect((await svc('models promote net latest production')).stdout).toBe(
    'net@production is now version 1.4.0; it was 1.3.0.\n',
  )
  expect((await svc('deploy net@production --dry-run')).stdout).toMatch(/Version: +1\.4\.0/)
  const rolledBack = await svc('rollback net --to-version production')
  expect([rolledBack.exitCode, rolledBack.stdout]).toEqual([
    0,
    expect.stringContaining('The whole fleet gets version 1.4.0'),
  ])
  expect((await svc('status net')).stdout).toMatch(/SHA256 +ALIASES\n1\.4\.0 .* production\n1\.3\.0 .* -\n/)
  const listed = await svc('models aliases net')
  expect(listed.stdout).toMatch(/^ALIAS +VERSION +BY +AT\nproduction +1\.4\.0 +operator +2026-01-01 00:00\n$/)
  const history = await svc('models aliases net --history')
  expect(history.stdout.split('\n').map((line) => line.split(/ +/).slice(0, 3))).toEqual([
    ['ALIAS', 'FROM', 'TO'],
    ['production', '1.3.0', '1.4.0'],
    ['production', '-', '1.3.0'],
    [''],
  ])
  expect((await svc('models aliases net --delete production')).stdout).toBe('net@production is deleted.\n')
  expect((await svc('models aliases net')).stderr).toBe("'net' has no aliases. Create one with: svc models promote\n")
})

it('lists the aliases if one is unknown, and refuses two contradictory versions', async () => {
  const svc = await start()
  await svc('models promote net 1.3.0 production')
  const unknown = await svc('pull net@prodution')
  expect(unknown).toEqual({
    exitCode: 1,
    stdout: '',
    stderr: "svc: Model 'net' has no version prodution.\nIt has 1.3.0 (production), 1.4.0.\n",
  })
  for (const line of ['models show net 1.5.0', 'models promote net 1.5.0 production'])
    expect((await svc(line)).stderr).toBe("svc: Model 'net' has no version 1.5.0.\nIt has 1.3.0 (production), 1.4.0.\n")
  for (const command of ['pull', 'status', 'rollback', 'models show', 'models aliases'])
    expect((await svc(`${command} nets`)).stderr, command).toBe(
      "svc: The catalog has no model 'nets'; did you mean 'net'?\nList models with svc models, or add one with svc push.\n",
    )
  const twice = await svc('pull net@production --version 1.4.0')
  expect([twice.exitCode, twice.stderr]).toEqual([
    2,
    "svc: 'net@production' names version production, but version 1.4.0 is given too.\nGive only one of them.\n",
  ])
  expect((await svc('models --source registry')).stdout).toContain('net')
})
