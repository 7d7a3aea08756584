import { ftruncateSync } from 'node:fs'
import { join } from 'node:path'
import { openFile } from '../../../src/aggregation/files.ts'
import { writePieces } from '../../../src/tensors/container-plan.ts'
import { planWeightFile } from '../../../src/tensors/plan-weight-file.ts'

export interface Sample {
  readonly path: string
  /** The byte offset of the float32 values. */
  readonly offset: number
}

/** Writes `count` weight files with one tensor of `columns` random values each, in pieces, so that no memory stays in use. */
export const writeSamples = (folder: string, columns: number, count: number): Sample[] => {
  const piece = new Float32Array(250_000)
  let state = 1
  return Array.from({ length: count }, (_, k) => {
    const path = join(folder, `update-${k}`)
    const plan = planWeightFile('safetensors', [{ name: 'weight', dtype: 'f32', shape: [columns / 1000, 1000] }])
    const file = openFile(path, 'w+')
    ftruncateSync(file.fd, plan.size)
    writePieces(file, plan)
    const { byteOffset } = plan.file.tensors[0]!
    for (let at = 0; at < columns; at += piece.length) {
      for (let i = 0; i < piece.length; i++) {
        state = (Math.imul(state, 1664525) + 1013904223) | 0
        piece[i] = state / 2 ** 33
      }
      file.write(byteOffset + at * 4, new Uint8Array(piece.buffer))
    }
    file.close()
    return { path, offset: byteOffset }
  })
}
