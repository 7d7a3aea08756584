import { spawn } from 'node:child_process'
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import { afterAll, expect, it } from 'vitest'
import { randomFrom } from '../../../../test/random.ts'
import { InferenceError } from '../../errors.ts'
import { readGgufHeader } from './header.ts'
import { makeGguf, tinyLlama } from './write-gguf.fixture.ts'

const MUTATIONS = 500
const root = join(import.meta.dirname, '../../../..')
const folder = mkdtempSync(join(tmpdir(), 'gguf-fuzz-'))
afterAll(() => rmSync(folder, { recursive: true }))

/** Damages the first `head` bytes, which are read before the weights. */
const mutate = (bytes: Buffer, head: number, random: (below: number) => number): Buffer => {
  const at = random(head)
  const length = 1 + random(40)
  const put = (value: Buffer) => Buffer.concat([bytes.subarray(0, at), value, bytes.subarray(at + value.length)])
  const mutations = [
    () => put(Buffer.from([random(256)])),
    () => put(Buffer.from([bytes[at]! ^ (1 << random(8))])),
    () => put(Buffer.alloc(8, 0xff)),
    () => put(Buffer.from([0, 0, 0, 0])),
    () => put(Buffer.from([random(16), 0, 0, 0])),
    () => Buffer.concat([bytes.subarray(0, at), bytes.subarray(at + length)]),
    () => Buffer.concat([bytes.subarray(0, at), Buffer.alloc(length, random(256)), bytes.subarray(at)]),
    () => bytes.subarray(0, random(bytes.length)),
  ]
  return mutations[random(mutations.length)]!()
}

/** A process with llama.cpp that loads the given files and computes with them. */
const startLlama = () => {
  const program = join(import.meta.dirname, '../../engines/llama/llama-process.fixture.ts')
  const child = spawn(process.execPath, ['--import', 'tsx', program], { stdio: ['pipe', 'pipe', 'ignore'] })
  const answers = createInterface(child.stdout)[Symbol.asyncIterator]()
  return {
    load: async (path: string): Promise<string> => {
      child.stdin.write(`${path}\n`)
      const answer = await answers.next()
      return answer.done ? 'died' : answer.value
    },
    stop: () => child.stdin.end(),
  }
}

it(`refuses ${MUTATIONS} damaged files, or llama.cpp survives them`, async () => {
  const random = randomFrom(20_261_121)
  const tiny = makeGguf(tinyLlama())
  const starter = readFileSync(join(root, 'models/starter.gguf'))
  const files = [
    ...Array.from({ length: 14 }, (_, n) => ({ bytes: tiny, head: n % 2 === 0 ? 2400 : 1000 })),
    { bytes: starter, head: 800 },
    { bytes: starter, head: 30_000 },
  ]
  const llama = startLlama()
  const outcomes: Record<string, number> = {}
  const path = join(folder, 'model.gguf')
  try {
    for (let n = 0; n < MUTATIONS; n++) {
      const { bytes, head } = files[n % files.length]!
      writeFileSync(path, mutate(bytes, Math.min(head, bytes.length), random))
      const outcome = await readGgufHeader(path).then(
        () => llama.load(path),
        (error: unknown) => error,
      )
      const name = outcome instanceof InferenceError ? outcome.code : String(outcome)
      outcomes[name] = (outcomes[name] ?? 0) + 1
      if (name === 'died') throw new Error(`llama.cpp died of mutation ${n}, which was let through.`)
    }
  } finally {
    llama.stop()
  }
  // A regular refusal by llama.cpp is harmless.
  const { invalid_model = 0, loaded = 0, refused = 0 } = outcomes
  expect(invalid_model + loaded + refused).toBe(MUTATIONS)
  expect(loaded).toBeGreaterThan(MUTATIONS / 20)
  expect(refused).toBeLessThan(MUTATIONS / 10)
})
