import { readFileSync } from 'node:fs'
import { expect, it, vi } from 'vitest'
import { compareWithRecorded, type RecordedRun } from '../../../../test/onnx-runtime.ts'
import { formOf, startWorld } from '../../../../test/world.ts'
import { torchToOnnx } from '../../../convert/from-torch/torch-to-onnx.ts'
import { readOnnx } from '../../../convert/onnx/read-onnx.ts'
import { writeOnnx } from '../../../convert/onnx/write-onnx.ts'
import { onnxToCoreml } from '../../../convert/to-coreml/onnx-to-coreml.ts'
import { onnxToTflite } from '../../../convert/to-tflite/onnx-to-tflite.ts'
import { testEngines } from '../../../inference/engines/optional/test-engines.fixture.ts'
import { bytesSource } from '../../../tensors/sources.ts'

const fixture = (name: string): Uint8Array => new Uint8Array(readFileSync(`test/fixtures/from-torch/${name}`))

/** A model of a PyTorch program and initial weights; devices submit weights that PyTorch trained. */
const train = async (rounds: number) => {
  const world = await startWorld({ config: { conversions: 'on' } })
  const { key } = await world.register('trainer')
  const ask = async (method: string, path: string, body?: unknown) => {
    const response = await world.request(method, `/api/v1${path}`, { key, body })
    expect(response.status).toBeLessThan(300)
    return response.body as Record<string, unknown>
  }
  const upload = (name: string) => ask('POST', '/models/net/versions/upload', formOf(fixture(name), {}, name))
  await ask('POST', '/models', { name: 'net' })
  await upload('cnn.pt2')
  await upload('cnn-weights.pt')
  const { id } = await ask('POST', '/training/jobs', { model: 'net', min_devices: 1, rounds, publish: 'last' })
  for (let round = 1; round <= rounds; round++) {
    await world.service.runDueTasks()
    const { history } = (await ask('GET', `/training/jobs/${id}`)) as { history: { round_id: string }[] }
    const form = formOf(fixture('cnn-weights.pt'), { num_samples: 1 }, 'update.pt')
    await ask('POST', `/training/rounds/${history.at(-1)!.round_id}/updates`, form)
    await world.service.runDueTasks()
  }
  const { history } = (await ask('GET', `/training/jobs/${id}`)) as { history: { aggregated_model_id: string }[] }
  /** Requests the file until it is there. */
  const download = (path: string, format: string) =>
    vi.waitFor(
      async () => {
        const url = `${world.baseUrl}/api/v1/models/${path}/download?format=${format}`
        const response = await fetch(url, { headers: { authorization: `Bearer ${key}` } })
        if (response.status !== 200) throw new Error(await response.text())
        return new Uint8Array(await response.arrayBuffer())
      },
      { timeout: 120_000, interval: 50 },
    )
  return { download, models: history.map(({ aggregated_model_id }) => aggregated_model_id) }
}

it('results of rounds are converted with the architecture that was uploaded once', async () => {
  const { download, models } = await train(2)
  const weights = bytesSource(fixture('cnn-weights.pt'))
  const { model } = torchToOnnx(bytesSource(fixture('cnn.pt2')), { weights })
  const expected = { onnx: writeOnnx(model), tflite: onnxToTflite(model).bytes, coreml: onnxToCoreml(model).bytes }
  // The results of the first round and of the second, which trained the first result, and the job's published version.
  for (const path of [`${models[0]}/versions/1`, `${models[1]}/versions/1`, 'net/versions/latest']) {
    for (const format of ['onnx', 'tflite', 'coreml'] as const) {
      expect(Buffer.from(await download(path, format)).equals(expected[format])).toBe(true)
    }
  }
  if (testEngines === null) return
  const [run] = JSON.parse(Buffer.from(fixture('cnn-weights.json')).toString()) as RecordedRun[]
  const [result] = await compareWithRecorded(readOnnx(expected.onnx), run!)
  expect(result!.difference).toBeLessThan(1e-5)
})
