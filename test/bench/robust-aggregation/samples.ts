import { ftruncateSync } from 'node:fs'
import { join } from 'node:path'
import { openFile } from '../../../src/aggregation/files.ts'
import { writePieces } from '../../../src/tensors/container-plan.ts'
import { planContainer } from '../../../src/tensors/plan-container.ts'

export interface Sample {
  readonly path: string
  /** Where the float32 values begin. */
  readonly offset: number
}

/** `count` weight files of one tensor; every file holds the same values rotated
 * by a distance of its own, so that all differ, and no two pairs of them alike. */
export const writeSamples = (folder: string, values: Float32Array, count: number): Sample[] =>
  Array.from({ length: count }, (_, k) => {
    const path = join(folder, `update-${k}`)
    const plan = planContainer('safetensors', [{ name: 'weight', dtype: 'f32', shape: [5000, values.length / 5000] }])
    const file = openFile(path, 'w+')
    ftruncateSync(file.fd, plan.size)
    writePieces(file, plan)
    const { byteOffset } = plan.file.tensors[0]!
    const bytes = new Uint8Array(values.buffer)
    const cut = (k * k * 312_509 * 4) % bytes.length
    file.write(byteOffset, bytes.subarray(cut))
    file.write(byteOffset + bytes.length - cut, bytes.subarray(0, cut))
    file.close()
    return { path, offset: byteOffset }
  })

export const randomValues = (count: number): Float32Array => {
  const values = new Float32Array(count)
  let state = 1
  for (let i = 0; i < count; i++) {
    state = (Math.imul(state, 1664525) + 1013904223) | 0
    values[i] = state / 2 ** 33
  }
  return values
}

/** Most resident memory while `work` runs, in bytes. */
export const peakDuring = async (work: () => Promise<unknown>): Promise<number> => {
  let peak = process.memoryUsage.rss()
  const timer = setInterval(() => {
    peak = Math.max(peak, process.memoryUsage.rss())
  }, 10)
  await work()
  clearInterval(timer)
  return peak
}
