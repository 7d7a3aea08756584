import { badRequest } from '../domain/errors.ts'
import { seal, writeTensorBytes } from './patch.ts'
import { showName } from './shape.ts'
import { bytesSource } from './sources.ts'
import type { ByteTarget, DType, TensorPlaces } from './weight-file.ts'

/** Bytes of a container that are known before its tensors: headers and directories. */
export interface Piece {
  readonly offset: number
  readonly bytes: Uint8Array
}

/**
 * The plan of a container of any size, without tensor data. To write it, call `writePieces`, then writeTensorBytes for every
 * tensor of `file` in any order and in chunks of any size, then `seal`. All other bytes of the target must be zero.
 */
export interface ContainerPlan {
  readonly file: TensorPlaces
  readonly size: number
  readonly pieces: readonly Piece[]
}

/** A tensor in memory: contiguous, row-major, little-endian. */
export interface TensorData {
  readonly name: string
  readonly dtype: DType
  readonly shape: readonly number[]
  readonly data: Uint8Array
}

export const writePieces = (target: ByteTarget, plan: ContainerPlan): void => {
  for (const { offset, bytes } of plan.pieces) target.write(offset, bytes)
}

/** Writes a planned container in memory. Throws bad_request when a tensor's data has the wrong length. */
export const fillPlan = (plan: ContainerPlan, tensors: readonly TensorData[]): Uint8Array<ArrayBuffer> => {
  const bytes = new Uint8Array(plan.size)
  const target = bytesSource(bytes)
  const byName = new Map(tensors.map((tensor) => [tensor.name, tensor.data]))
  writePieces(target, plan)
  for (const tensor of plan.file.tensors) {
    const data = byName.get(tensor.name)
    if (data === undefined) throw badRequest(`Tensor ${showName(tensor.name)} has no data to write.`)
    writeTensorBytes(target, tensor, data)
  }
  seal(target, plan.file)
  return bytes
}
