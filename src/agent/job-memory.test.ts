import { mkdir, readdir, readFile, utimes, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { emptyFolder } from '../../test/databases.ts'
import { formOf, startWorld } from '../../test/world.ts'
import { createDevice } from '../sdk/device-client.ts'
import { initialModel } from '../sdk/trainers/dense-network.ts'
import { encodeModel } from '../sdk/trainers/weights-codec.ts'
import type { AgentTrainer } from './agent-trainer.ts'
import { builtInTrainer } from './built-in-trainer.ts'
import { readCsv } from './csv.ts'
import { openJobMemory } from './job-memory.ts'
import { workOnRound } from './round-work.ts'

const model = encodeModel(initialModel({ features: 2, hidden: [], classes: 2, seed: 1 }), new Map())

/** A job of three rounds with one device. Its folder is the agent's. */
const startJob = async (strategy = 'fedavg') => {
  const world = await startWorld()
  const { key, deviceId } = await world.register('edge-1')
  const post = async (path: string, body: unknown) => {
    const response = await world.request('POST', `/api/v1${path}`, { key, body })
    expect(response.status).toBe(201)
    return response.body as Record<string, unknown>
  }
  await post('/models', { name: 'net' })
  await post('/models/net/versions/upload', formOf(model))
  const { id: jobId } = await post('/training/jobs', { model: 'net', min_devices: 1, rounds: 3, strategy })
  const folder = await emptyFolder()
  const roundsFolder = join(folder, 'rounds')
  await mkdir(roundsFolder)
  const memories = join(folder, 'device', 'jobs')
  const lines: string[] = []
  const nextRound = async (): Promise<string> => {
    await world.service.runDueTasks()
    const { body } = await world.request('GET', `/api/v1/training/jobs/${jobId}`, { key })
    return (body as { history: { round_id: string }[] }).history.at(-1)!.round_id
  }
  /** Works on a round over a network that may lose responses. */
  const work = async (trainer: AgentTrainer, network: typeof fetch = fetch, signal = new AbortController().signal) => {
    const now = () => world.now().getTime()
    const common = { now, fetch: network, sleep: async () => undefined }
    const device = createDevice({ baseUrl: world.baseUrl, deviceId, apiKey: key, ...common })
    return workOnRound(await nextRound(), {
      ...{ device, trainer, roundsFolder, signal, now },
      log: (line) => lines.push(line),
    })
  }
  return { work, memories, memory: join(memories, String(jobId)), lines, roundsFolder }
}

/** Counts in its memory in how many rounds it has trained. */
const counter: AgentTrainer = {
  train: async ({ globalWeights, memory, folder }) => {
    const weights = join(folder, 'update.safetensors')
    await writeFile(weights, await readFile(globalWeights!))
    const counted = join(folder, 'memory')
    await writeFile(counted, String(memory === null ? 1 : Number(await readFile(memory, 'utf8')) + 1))
    return { weights, report: { numSamples: 3 }, globalModel: null, memory: counted }
  },
}

const isAccepted = (input: Parameters<typeof fetch>[0], response: Response): boolean =>
  (input as Request).url.endsWith('/updates') && response.status === 201

test('an update that was accepted is done, and its memory kept, although the round ended before its response', async () => {
  const { work, memory, roundsFolder } = await startJob()
  const over = new AbortController()
  const silent: typeof fetch = async (input, init) => {
    const response = await fetch(input, init)
    if (!isAccepted(input, response)) return response
    over.abort(new Error('The round is already completed; training was stopped.'))
    return Promise.reject(new TypeError('fetch failed'))
  }
  expect((await work(counter, silent, over.signal)).report).toEqual({ numSamples: 3 })
  expect(await readFile(memory, 'utf8')).toBe('1')
  expect(await readdir(roundsFolder)).toEqual([])
})

test('the memory of an update whose response never came is kept when the next round starts', async () => {
  const { work, memory, roundsFolder } = await startJob()
  let isAway = false
  const lost: typeof fetch = async (input, init) => {
    if (isAway) throw new TypeError('fetch failed')
    const response = await fetch(input, init)
    isAway = isAccepted(input, response)
    if (isAway) throw new TypeError('fetch failed')
    return response
  }
  await expect(work(counter, lost)).rejects.toThrow('No response from')
  expect(await readdir(roundsFolder)).toHaveLength(1)
  await work(counter)
  expect(await readFile(memory, 'utf8')).toBe('2')
  expect(await readdir(roundsFolder)).toEqual([])
})

test('an update that is refused because it has arrived is kept while the service does not say that it has', async () => {
  const { work, memory, roundsFolder } = await startJob()
  let updates = 0
  const network: typeof fetch = async (input, init) => {
    const { url } = input as Request
    if (url.endsWith('/selection')) throw new TypeError('fetch failed')
    const response = await fetch(input, init)
    if (url.endsWith('/updates') && ++updates === 1) throw new TypeError('fetch failed')
    return response
  }
  await expect(work(counter, network)).rejects.toThrow('No response from')
  expect(updates).toBe(2)
  expect(await readdir(roundsFolder)).toHaveLength(1)
  await work(counter)
  expect(await readFile(memory, 'utf8')).toBe('2')
})

test('a damaged memory is set aside, and the built-in trainer starts without it', async () => {
  const { work, memory, memories, lines } = await startJob('ditto')
  const path = join(await emptyFolder(), 'data.csv')
  const rows = Array.from({ length: 10 }, (_, row) => `${row % 7},${row % 3},${row % 2}`)
  await writeFile(path, `x,y2,label\n${rows.join('\n')}\n`)
  const table = await readCsv(path)
  const trainer = builtInTrainer({ table, deviceId: 'edge-1', classes: ['0', '1'] })
  await work(trainer)
  const first = await readFile(memory)
  await writeFile(memory, '')
  await work(trainer)
  expect(lines.at(-1)).toContain(`${memory}.damaged is damaged: `)
  expect((await readdir(memories)).sort()).toEqual(
    [memory, `${memory}.damaged`].map((path) => path.slice(memories.length + 1)),
  )
  expect((await readFile(memory)).length).toBe(first.length)
})

test('the newest twenty memories are kept, and the last one even while the clock is behind', async () => {
  const [folder, source] = [join(await emptyFolder(), 'jobs'), join(await emptyFolder(), 'memory')]
  const keep = async (jobId: string, at: Date): Promise<void> => {
    await writeFile(source, jobId)
    await utimes(source, at, at)
    await openJobMemory(folder, jobId).keep(source)
  }
  const jobs = Array.from({ length: 21 }, (_, index) => `job-${index}`)
  for (const [index, job] of jobs.entries()) await keep(job, new Date(2026, 0, index + 1))
  await keep('job-now', new Date(60_000))
  expect((await readdir(folder)).sort()).toEqual([...jobs.slice(2), 'job-now'].sort())
})
