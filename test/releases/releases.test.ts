import { readFile } from 'node:fs/promises'
import { gunzipSync } from 'node:zlib'
import pg from 'pg'
import { expect, onTestFinished, test } from 'vitest'
import { readConfig } from '../../src/config.ts'
import { createControlPlane } from '../../src/control/app.ts'
import { unpackFolder } from '../../src/platform/db/embedded/template.ts'
import { emptyFolder, freshPostgresUrl, hasPostgres } from '../databases.ts'

// Data written by released versions, recorded by record.ts: all of it must still be there. Responses may have gained fields.

interface Recorded {
  readonly key: string
  readonly device_key: string
  readonly answers: Readonly<Record<string, unknown>>
}

const fixture = (release: string, name: string) =>
  readFile(new URL(`../fixtures/releases/${release}/${name}`, import.meta.url))

/** Using a key changes `last_used_at`. */
const exceptUse = (name: string, value: unknown): unknown => (name === 'last_used_at' ? undefined : value)

const recorded = async (release: string, name: string): Promise<Recorded> =>
  JSON.parse((await fixture(release, name)).toString(), exceptUse)

/** Admin keys have gained a scope. */
const withoutNewScopes = (name: string, value: unknown): unknown =>
  name === 'scopes' && Array.isArray(value) ? value.filter((scope) => scope !== 'metrics:read') : value

/** The time of the recording: at a later time, due work would change the data. */
const timeOf = ({ answers }: Recorded): Date => {
  const times = JSON.stringify(answers).match(/"(last_seen_at|created_at)":"[^"]+/g) ?? []
  return new Date(
    times
      .map((text) => text.split('":"')[1]!)
      .sort()
      .at(-1)!,
  )
}

const isOfModel = (path: string): boolean => /^\/models\/[^/?]+$/.test(path)

/** The upgrade removes the figures of a federation's rounds, which all members could read in the catalog. */
const withoutFigures = (body: unknown): unknown => {
  const { models, ...kept } = body as { models: object[] }
  return { ...kept, models: models.map((model) => ({ ...model, accuracy: null, loss: null })) }
}

/** A policy in the recorded data may have added a round's result as another version, which is then the model's latest. */
const mayHaveGained = (path: string, body: unknown): unknown => {
  if (/^\/federations\/[^/]+\/models/.test(path)) return withoutFigures(body)
  // Later versions warn of deployments that take precedence.
  if (/\/rollouts\/[^/]+$/.test(path)) return { ...(body as object), warnings: expect.any(Array) }
  if (!isOfModel(path)) return body
  const { versions, model_path, model_size_bytes, model_hash, accuracy, loss, ...kept } = body as {
    versions: object[]
  } & Record<string, unknown>
  return { ...kept, versions: expect.arrayContaining(versions.map((version) => expect.objectContaining(version))) }
}

const expectEverything = async (
  settings: { readonly dataDir: string; readonly databaseUrl: string | null; readonly enrollment: 'open' | 'token' },
  was: Recorded,
): Promise<void> => {
  const config = { ...readConfig({ SERVICE_LOG_LEVEL: 'error' }), ...settings, port: 0 }
  const service = await createControlPlane(config, { now: () => timeOf(was) })
  onTestFinished(() => service.close())
  const get = async (path: string, key: string) => {
    const response = await service.app.inject({ url: `/api/v1${path}`, headers: { authorization: `Bearer ${key}` } })
    return { path, status: response.statusCode, body: JSON.parse(response.body, withoutNewScopes) }
  }
  const model = Object.keys(was.answers).find(isOfModel)!
  const { model_hash, versions } = (await get(model, was.key)).body
  expect(model_hash).toBe(versions.at(-1).model_hash)
  for (const [path, body] of Object.entries(was.answers)) {
    if (path === '/models' || path === '/training/rounds') continue
    expect(await get(path, was.key)).toMatchObject({
      path,
      status: 200,
      body: mayHaveGained(path, body),
    })
  }
  // After these answers, a round was added with a loss that version 1.0.0 stored as Infinity and could not list.
  const known = was.answers['/models'] as { models: { id: string }[]; total: number }
  const { status, body } = await get('/models?limit=100', was.key)
  expect(status).toBe(200)
  expect(body.total).toBe(known.total + 1)
  expect(body.models).toEqual(
    expect.arrayContaining(known.models.map((model) => expect.objectContaining({ id: model.id }))),
  )
  expect(body.models.map((model: { loss: number | null }) => model.loss)).toContain(null)
  const rounds = await get('/training/rounds', was.key)
  expect(rounds).toMatchObject({ status: 200, body: { total: 4 } })
  // Everything that a device's own key may read under token enrollment.
  expect((await get('/devices/d2/assignments', was.device_key)).status).toBe(200)
}

test('a data folder written by version 1.0.0 opens with everything in it', async () => {
  const was = await recorded('1.0.0', 'data-folder.json')
  const dataDir = `${await emptyFolder()}/data`
  await unpackFolder(await fixture('1.0.0', 'data-folder.br'), dataDir)
  await expectEverything({ dataDir, databaseUrl: null, enrollment: 'open' }, was)
})

test.skipIf(!hasPostgres())('a PostgreSQL dump of version 1.0.0 opens with everything in it', async () => {
  const was = await recorded('1.0.0', 'postgres-dump.json')
  const databaseUrl = await freshPostgresUrl('template1')
  const client = new pg.Client(databaseUrl)
  await client.connect()
  await client.query(gunzipSync(await fixture('1.0.0', 'postgres-dump.sql.gz')).toString())
  await client.end()
  // The weight files are not in the dump; only downloads need them.
  await expectEverything({ dataDir: await emptyFolder(), databaseUrl, enrollment: 'token' }, was)
})
