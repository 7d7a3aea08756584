import { BinaryWriter } from '@bufbuild/protobuf/wire'
import type { Round } from './job-rounds.ts'

/** CRC-32C (Castagnoli; RFC 3720, appendix B.4), bit by bit: event files are small. */
const crc32c = (bytes: Uint8Array): number => {
  let crc = 0xffffffff
  for (const byte of bytes) {
    crc ^= byte
    for (let bit = 0; bit < 8; bit++) crc = (crc >>> 1) ^ (crc & 1 ? 0x82f63b78 : 0)
  }
  return ~crc >>> 0
}

const checksum = (bytes: Uint8Array): Buffer => {
  const crc = crc32c(bytes)
  const masked = Buffer.alloc(4)
  // The mask is for data that itself contains checksums (tensorflow/core/lib/hash/crc32c.h).
  masked.writeUInt32LE((((crc >>> 15) | (crc << 17)) + 0xa282ead8) >>> 0)
  return masked
}

/** A TFRecord: length, its checksum, data, its checksum (tensorflow.org/tutorials/load_data/tfrecord). */
const record = (bytes: Uint8Array): Buffer => {
  const length = Buffer.alloc(8)
  length.writeBigUInt64LE(BigInt(bytes.length))
  return Buffer.concat([length, checksum(length), bytes, checksum(bytes)])
}

/** An Event with scalars (tensorflow/core/util/event.proto, summary.proto). */
const scalarsOf = (seconds: number, step: number, values: readonly (readonly [tag: string, value: number])[]) => {
  const event = new BinaryWriter().tag(1, 1).double(seconds).tag(2, 0).int64(step).tag(5, 2).fork()
  for (const [tag, value] of values) event.tag(1, 2).fork().tag(1, 2).string(tag).tag(2, 5).float(value).join()
  return event.join().finish()
}

/** Curves by TensorBoard's groups: `train/…` on the devices' own data, `eval/…` on held-out data. */
export const curvesOf = ({ loss, accuracy, metrics, evaluation }: Round): [tag: string, value: number][] =>
  Object.entries({
    'train/loss': loss,
    'train/accuracy': accuracy,
    ...Object.fromEntries(Object.entries(metrics ?? {}).map(([name, { mean }]) => [`train/${name}`, mean])),
    ...Object.fromEntries(Object.entries(evaluation?.metrics ?? {}).map(([name, { mean }]) => [`eval/${name}`, mean])),
  }).flatMap(([tag, value]) => (typeof value === 'number' ? [[tag, value] as [string, number]] : []))

/** Returns a TensorBoard event file with a job's curves; the job's completed rounds are the steps, from 1. */
export const eventFile = (rounds: readonly Round[], createdAt: Date): Buffer => {
  const version = new BinaryWriter()
    .tag(1, 1)
    .double(createdAt.getTime() / 1000)
    .tag(3, 2)
    .string('brain.Event:2')
    .finish()
  const completed = rounds.filter(({ completed_at }) => completed_at !== null)
  const events = completed.map((round, index) => ({ round, step: index + 1, curves: curvesOf(round) }))
  return Buffer.concat([
    record(version),
    ...events
      .filter(({ curves }) => curves.length > 0)
      .map(({ round, step, curves }) => record(scalarsOf(Date.parse(round.completed_at!) / 1000, step, curves))),
  ])
}
