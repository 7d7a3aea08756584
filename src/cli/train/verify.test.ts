import { readFile, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { expect, it } from 'vitest'
import { emptyFolder } from '../../../test/databases.ts'
import { formOf, startWorld } from '../../../test/world.ts'
import { runInProcess } from '../in-process.fixture.ts'

it('replays a completed round: exits with 0 if the bytes are equal, and with 1 if a stored update was changed', async () => {
  const world = await startWorld()
  const devices = [await world.register('a'), await world.register('b')]
  const { key } = devices[0]!
  const svc = async (...argv: string[]) =>
    runInProcess(argv, {
      env: { SERVICE_HOME: await emptyFolder(), SERVICE_API_KEY: key, SERVICE_API_BASE: world.baseUrl },
    })
  const started = await world.request('POST', '/api/v1/training/rounds/start', {
    key,
    body: { target_devices: 2, min_devices: 2 },
  })
  const roundId = (started.body as { id: string }).id
  expect(await svc('train', 'verify', roundId)).toMatchObject({ exitCode: 1, stdout: '' })

  const paths: string[] = []
  for (const [index, device] of devices.entries()) {
    const body = formOf(new Uint8Array(Float32Array.of(index, 1, 2).buffer), { num_samples: 1 })
    const response = await world.request('POST', `/api/v1/training/rounds/${roundId}/updates`, {
      key: device.key,
      body,
    })
    paths.push((response.body as { model_path: string }).model_path)
  }
  await world.service.runDueTasks()
  const { body: receipt } = await world.request('GET', `/api/v1/training/rounds/${roundId}/receipt`, { key })
  const sha256 = (receipt as { output_sha256: string }).output_sha256
  expect(await svc('train', 'verify', roundId)).toEqual({
    exitCode: 0,
    stdout: `Round:     ${roundId}\nReceipt:   sha256:${sha256}\nReplayed:  sha256:${sha256}\nBytes:     equal\n`,
    stderr: '',
  })

  const blob = join(world.dataDir, 'blobs', paths[0]!)
  const bytes = await readFile(blob)
  bytes.writeFloatLE(0.5, 0)
  await writeFile(blob, bytes)
  const { exitCode, stdout, stderr } = await svc('train', 'verify', roundId, '--json')
  const replay = JSON.parse(stdout)
  expect({ exitCode, replay, stderr }).toEqual({
    exitCode: 1,
    replay: {
      round_id: roundId,
      matches: false,
      expected_sha256: sha256,
      replayed_sha256: expect.stringMatching(/^[0-9a-f]{64}$/),
    },
    stderr:
      `svc: Round ${roundId} does not reproduce the result in its receipt.\n` +
      'The updates, the aggregating service, or the receipt has changed since.\n',
  })
  expect(await svc('train', 'verify', '1')).toEqual({
    exitCode: 1,
    stdout: `Round:     ${roundId}\nReceipt:   sha256:${sha256}\nReplayed:  sha256:${replay.replayed_sha256}\nBytes:     different\n`,
    stderr,
  })
})
