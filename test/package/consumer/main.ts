// The code of a project that installed the package: one file for each entry point, and this one, which runs them all.
import { mkdtempSync, readFileSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { createDevice as createBundledDevice } from 'tributary/sdk/browser'
import { medianOf } from './aggregation.js'
import { refusal, startRound } from './client.js'
import { enroll, takeNextRound } from './sdk.js'
import { fileOf, valuesIn } from './tensors.js'

const baseUrl = process.argv[2] ?? ''
const { device, apiKey } = await enroll(baseUrl, 'kitchen')
const round = await startRound(baseUrl, apiKey)
const numSamples = await takeNextRound(device)
const bundled = await createBundledDevice({ baseUrl, deviceId: 'kitchen', apiKey }).heartbeat()

const folder = process.argv[3] ?? mkdtempSync(join(tmpdir(), 'tributary-'))
const paths = [1, 2, 9].map((value) => join(folder, `${value}.safetensors`))
for (const [index, path] of paths.entries()) writeFileSync(path, fileOf([[1, 2, 9][index] ?? 0, 0.5]))
const median = join(folder, 'median.safetensors')
await medianOf(paths, median)

console.log(
  JSON.stringify({
    round,
    numSamples,
    refusal: await refusal(baseUrl),
    pendingAfterwards: bundled.pendingRoundId,
    median: valuesIn(readFileSync(median)),
  }),
)
