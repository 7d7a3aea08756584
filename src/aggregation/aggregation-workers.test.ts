import { readFileSync } from 'node:fs'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { ServiceError } from '../domain/errors.ts'
import { AggregationWorkers } from './aggregation-workers.ts'
import { encode } from './kernel-oracle.fixture.ts'
import { FIXTURES, jobOf, temporaryFolder } from './weight-samples.fixture.ts'

let files: ReturnType<typeof temporaryFolder>
let workers = new AggregationWorkers()
beforeEach(() => {
  files = temporaryFolder()
  workers = new AggregationWorkers({ maxHeapMb: 24 })
})
afterEach(async () => {
  await workers.close()
  files.remove()
})

const net = `${FIXTURES}weights/net_a.pt`

/** A valid file with more tensors than fit the small heap of these workers. */
const heapFiller = (): string => {
  const empty = '{"dtype":"F32","shape":[0,1,1,1],"data_offsets":[0,0]}'
  const header = Buffer.from(`{${Array.from({ length: 100_000 }, (_, i) => `"layers.${i}":${empty}`).join(',')}}`)
  const length = Buffer.alloc(8)
  length.writeBigUInt64LE(BigInt(header.length))
  return files.write('filler', Buffer.concat([length, header]))
}

describe('the aggregation workers', () => {
  it('inspect and aggregate files, many at a time', async () => {
    const job = jobOf({
      updates: [
        { id: 'a', path: files.raw('a', [1, 2]), rawVector: true, numSamples: 1 },
        { id: 'b', path: files.raw('b', [3, 4]), rawVector: true, numSamples: 1 },
      ],
      outputPath: files.path('out'),
    })
    const [result, ...inspections] = await Promise.all([
      workers.aggregate(job),
      ...Array.from({ length: 20 }, () => workers.inspect(net, { expected: null, rawVectors: 'none' })),
    ])
    expect(result).toEqual({
      format: 'raw',
      tensors: 1,
      elements: 2,
      weights: [
        { id: 'a', weight: 0.5 },
        { id: 'b', weight: 0.5 },
      ],
      state: { written: false },
      control: { written: false },
      privacy: null,
    })
    expect(readFileSync(files.path('out'))).toEqual(Buffer.from(encode('f32', [2, 3])))
    expect(inspections.map(({ format, layout }) => [format, layout?.length])).toEqual(
      new Array(20).fill(['torch-zip', 9]),
    )
  })

  it('preserve the codes of errors', async () => {
    const refused = await workers
      .inspect(`${FIXTURES}weights/net_truncated.pt`, { expected: null, rawVectors: 'none' })
      .catch((e) => e)
    expect(refused).toBeInstanceOf(ServiceError)
    expect(refused.toJSON()).toEqual({ error: 'bad_request', message: expect.any(String), status_code: 400 })
    await expect(workers.inspect(files.path('gone'), { expected: null, rawVectors: 'none' })).rejects.toMatchObject({
      code: 'internal_error',
      message: expect.stringContaining('ENOENT'),
    })
  })

  it('lose only the job that kills a thread and continue with another', async () => {
    const path = heapFiller()
    const outcomes = await Promise.allSettled([
      workers.inspect(net, { expected: null, rawVectors: 'none' }),
      workers.inspect(path, { expected: null, rawVectors: 'none' }),
      workers.inspect(net, { expected: null, rawVectors: 'none' }),
    ])
    expect(outcomes.map(({ status }) => status)).toEqual(['fulfilled', 'rejected', 'fulfilled'])
    expect(outcomes[1]).toMatchObject({
      reason: {
        code: 'internal_error',
        message: expect.stringMatching(/^The worker thread ended before its job was done: .*memory/),
      },
    })
  })

  it('reject waiting and later jobs once closed', async () => {
    const waiting = [1, 2, 3].map(() =>
      workers.inspect(net, { expected: null, rawVectors: 'none' }).catch((error) => error.message),
    )
    await workers.close()
    expect(await Promise.all(waiting)).toEqual(new Array(3).fill('The service is shutting down.'))
    await expect(workers.inspect(net, { expected: null, rawVectors: 'none' })).rejects.toMatchObject({
      code: 'internal_error',
    })
  })
})
