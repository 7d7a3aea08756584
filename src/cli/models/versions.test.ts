import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { expect, it } from 'vitest'
import { emptyFolder } from '../../../test/databases.ts'
import { boundOrganizations } from '../../../test/organizations.ts'
import { apiOf, formOf } from '../../../test/world.ts'
import { initialModel } from '../../sdk/trainers/dense-network.ts'
import { encodeModel } from '../../sdk/trainers/weights-codec.ts'
import { runInProcess } from '../in-process.fixture.ts'

const openOrganization = boundOrganizations({ config: { conversions: 'off' } })

const start = async () => {
  const { world, key } = await openOrganization()
  const cwd = await emptyFolder()
  const env = { SERVICE_HOME: await emptyFolder(), SERVICE_API_KEY: key, SERVICE_API_BASE: world.baseUrl }
  const svc = (line: string) => runInProcess(line.split(' '), { env, cwd, now: world.now })
  const json = async (line: string) => JSON.parse((await svc(`${line} --json`)).stdout)
  const bytes = encodeModel(initialModel({ features: 2, hidden: [], classes: 2, seed: 0 }), new Map())
  await writeFile(join(cwd, 'net.safetensors'), bytes)
  return { world, key, cwd, svc, json, bytes }
}

const rowsOf = (table: string) =>
  table
    .split('\n')
    .filter(Boolean)
    .map((line) => line.trim().split(/ {2,}/))

it('lists uploads and results of rounds, newest first, with their figures', async () => {
  const { world, key, svc, json, bytes } = await start()
  const ask = apiOf(world, key)
  await svc('push net.safetensors -v 1.0.0 --meta accuracy=0.91237 --meta loss=high --formats onnx')
  await svc('models promote net 1.0.0 production')
  await svc('deploy net --version 1.0.0 --yes')
  const { key: trainer } = await world.register('trainer')
  const job = (await ask('POST', '/training/jobs', { model: 'net', min_devices: 1, rounds: 1 })).body.id as string
  await world.service.runDueTasks()
  const { history } = (await ask('GET', `/training/jobs/${job}`)).body as { history: { round_id: string }[] }
  const update = formOf(bytes, { num_samples: 1, local_loss: 0.25, local_accuracy: 0.5 })
  await world.request('POST', `/api/v1/training/rounds/${history[0]!.round_id}/updates`, { key: trainer, body: update })
  await world.service.runDueTasks()

  const [head, ...rows] = rowsOf((await svc('models versions net')).stdout)
  const at = expect.stringMatching(/^2026-01-01 00:0\d$/)
  const size = expect.stringMatching(/ kB$/)
  expect([head, ...rows]).toEqual([
    ['VERSION', 'NUMBER', 'ALIASES', 'FORMATS', 'SIZE', 'CREATED', 'ACCURACY', 'LOSS', 'FROM', 'DELIVERED'],
    ['1.1.0', '2', '-', 'pytorch', size, at, '0.5', '0.25', `round 1 of job ${job.slice(0, 8)}`, 'no'],
    [
      '1.0.0',
      '1',
      'production',
      expect.stringMatching(/^pytorch, onnx \(\w+\)$/),
      size,
      at,
      '0.9124',
      '-',
      'upload',
      'yes',
    ],
  ])
  expect((await svc('models versions net --limit 1')).stderr).toBe('1 of 2; --limit all shows all.\n')
  const listed = await json('models versions net --limit 1')
  const { versions } = (await ask('GET', '/models/net')).body as { versions: object[] }
  expect(listed).toEqual({
    model_id: expect.any(String),
    model_name: 'net',
    versions: [versions[1]],
    total: 2,
    delivered_versions: [1],
  })
  const { latest_model_id } = (await ask('GET', `/training/jobs/${job}`)).body
  expect(rowsOf((await svc(`models versions ${latest_model_id}`)).stdout)[1]).toEqual(
    expect.arrayContaining(['0.5', '0.25', 'round']),
  )
  await ask('POST', '/models', { name: 'empty' })
  expect((await svc('models versions empty')).stderr).toBe("'empty' has no versions. Upload one with: svc push\n")
  expect((await svc('models versions nett')).stderr).toContain("did you mean 'net'?")
  expect(await svc('models versions net --limit 0')).toMatchObject({ exitCode: 2 })
})

it('--meta records numbers, booleans, and text; show prints them, set-metadata changes them', async () => {
  const { svc, json } = await start()
  const values = ['accuracy=0.91', 'steps=1e3', 'tuned=true', 'dataset=2026-11', 'build=007', 'none=null', 'quoted="5"']
  const long = ['id=12345678901234567890', 'commit=12e4567', 'x=a=b', 'empty=']
  const meta = [...values, ...long].map((value) => `--meta ${value}`).join(' ')
  expect((await json(`push net.safetensors -v 1.0.0 ${meta}`)).metadata).toEqual({
    accuracy: 0.91,
    steps: 1000,
    tuned: true,
    dataset: '2026-11',
    build: '007',
    none: 'null',
    quoted: '5',
    id: '12345678901234567890',
    commit: '12e4567',
    x: 'a=b',
    empty: '',
  })
  const again = await svc('push net.safetensors -v 1.0.0 --meta accuracy=0.92')
  expect([again.exitCode, again.stderr]).toEqual([
    0,
    'The metadata of version 1.0.0 was changed.\nThis version already exists with the same contents.\n',
  ])
  const unused = ['steps', 'tuned', 'build', 'none', 'quoted', 'id', 'commit', 'x', 'empty']
  const removed = await svc(
    `models set-metadata net 1.0.0 --meta note=ok ${unused.map((key) => `--delete ${key}`).join(' ')}`,
  )
  expect(removed).toEqual({
    exitCode: 0,
    stdout: 'Changed the metadata of net 1.0.0.\nMETADATA  VALUE\naccuracy  0.92\ndataset   2026-11\nnote      ok\n',
    stderr: '',
  })
  expect((await svc('models set-metadata net 1.0.0 --delete nte')).stderr).toBe(
    "Warning: There was no key 'nte' to delete.\n",
  )
  expect((await svc('models show net')).stdout).toMatch(
    /\n\nMETADATA {2}VALUE\naccuracy {2}0\.92\ndataset {3}2026-11\nnote {6}ok\n$/,
  )
})

it('refuses invalid metadata before anything is uploaded', async () => {
  const { svc, json } = await start()
  const push = 'push net.safetensors -v 1.0.0 --meta'
  for (const [line, said] of [
    [`${push} accuracy`, 'It must be key=value, such as accuracy=0.91.'],
    [`${push} =1`, 'It must be key=value, such as accuracy=0.91.'],
    [`${push} a=1 --meta a=2`, "The key 'a' is given twice."],
    [`${push} __proto__=1`, 'metadata: "__proto__" is not a key'],
    [`${push} a=${'x'.repeat(501)}`, 'metadata.a must be at most 500 characters, got 501.'],
    [`${push} a=${'x'.repeat(501)}`, `argument 'a=${'x'.repeat(58)}…' is invalid.`],
    [`${push} ${'k'.repeat(65)}=1`, 'is not a key: 1 to 64 characters'],
    [
      `${push} ${Array.from({ length: 65 }, (_, at) => `k${at}=1`).join(' --meta ')}`,
      'metadata would have 65 entries; at most 64 are accepted.',
    ],
    ['models set-metadata net 1.0.0', 'Give --meta <key=value> or --delete <key>.'],
    ['models set-metadata net 1.0.0 --meta a=1 --delete a', "The key 'a' is both set and deleted."],
  ] as const)
    expect(await svc(line), said).toMatchObject({ exitCode: 2, stderr: expect.stringContaining(said) })
  expect((await json('models --source registry')).models).toEqual([])
  await svc('push net.safetensors -v 1.0.0')
  expect(await svc('models set-metadata net 2.0.0 --meta a=1')).toMatchObject({
    exitCode: 1,
    stderr: "svc: Model 'net' has no version 2.0.0.\nIt has 1.0.0.\n",
  })
})

it('are deleted after a confirmation, unless something uses them', async () => {
  const { svc } = await start()
  await svc('push net.safetensors -v 1.0.0')
  await svc('models promote net 1.0.0 production')
  expect(await svc('models delete-version net 1.0.0')).toMatchObject({
    exitCode: 2,
    stderr: expect.stringContaining('Deleting version 1.0.0 of net (it cannot be undone) needs a confirmation'),
  })
  expect(await svc('models delete-version net 1.0.0 --yes')).toMatchObject({
    exitCode: 1,
    stderr: expect.stringContaining("Version 1.0.0 has the alias 'production'. Move or delete it first."),
  })
  await svc('models aliases net --delete production')
  expect(await svc('models delete-version net 1.0.0 --yes')).toMatchObject({
    exitCode: 0,
    stdout: 'Deleted version 1.0.0 of net.\n',
  })
  expect((await svc('models delete-version net 1.0.0 --yes')).stderr).toContain("Model 'net' has no version 1.0.0.")
  expect((await svc('push net.safetensors -v 1.0.0')).stderr).toContain('had a version 1.0.0, which was deleted')
})

it('and the description of their model can be changed', async () => {
  const { svc, json } = await start()
  await svc('push net.safetensors -v 1.0.0')
  expect((await svc('models describe net colors')).stdout).toBe('Changed the description of net.\n')
  expect(await json('models describe net shapes')).toMatchObject({ name: 'net', description: 'shapes' })
  const missing = await svc('models describe nett shapes')
  expect(missing).toMatchObject({ exitCode: 1, stderr: expect.stringContaining("did you mean 'net'?") })
})
