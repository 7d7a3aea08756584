import { ApiError } from '../../client/client.ts'
import { anySignal } from '../../domain/any-signal.ts'
import { errorMessage } from '../../domain/error-message.ts'
import { sizeWords } from '../../domain/sizes.ts'
import { type FileSink, openFileSink } from '../../platform/transfer/file-sink.ts'
import type { Assignment } from '../../sdk/assignment.ts'
import type { Device } from '../../sdk/device.ts'
import { isTransient } from '../../sdk/retry.ts'
import { diskFault, isFullDisk } from '../disk-fault.ts'
import type { KeptVersion } from './model-state.ts'
import type { ModelFolder } from './model-store.ts'
import type { TimeSlices } from './time-slices.ts'

/** A version is unavailable or cannot run here. The message is sent to the service. */
export class DeliveryFailed extends Error {
  override readonly name = 'DeliveryFailed'
}

export interface FetchContext {
  readonly device: Pick<Device, 'downloadVersion'>
  readonly folder: ModelFolder
  /** Limits this device to one download at a time. */
  readonly turns: TimeSlices
  readonly signal: AbortSignal
  readonly onStart: (received: number) => void
  readonly onVerify: () => void
  /** Deletes what this device does not need, if that frees this many bytes. */
  readonly makeRoom: (missing: number) => Promise<void>
}

/** Space for the pointer and the reports. */
const RESERVE = 1024 * 1024

const requireSpace = async ({ folder, makeRoom }: FetchContext, missing: number): Promise<void> => {
  if (missing <= 0) return
  const needed = missing + RESERVE
  let free = await folder.freeBytes()
  if (free < needed) {
    await makeRoom(needed - free)
    free = await folder.freeBytes()
  }
  if (free >= needed) return
  throw new DeliveryFailed(
    `The disk is full: the version needs ${sizeWords(missing)} more and ${sizeWords(RESERVE)} must stay free, but only ${sizeWords(free)} is free.`,
  )
}

/** True for transient errors. They include a refused key, which may be replaced. */
const isTransientOrUnauthorized = (error: unknown): boolean =>
  isTransient(error) || (error instanceof ApiError && error.status === 401)

/** Returns null for transient errors, otherwise the failure to report to the service. */
export const failureOf = (error: unknown): DeliveryFailed | null => {
  if (error instanceof DeliveryFailed) return error
  if (isTransientOrUnauthorized(error)) return null
  const fault = diskFault(error)
  if (fault !== null) return new DeliveryFailed(`${fault}: the version could not be written.`, { cause: error })
  return new DeliveryFailed(errorMessage(error), { cause: error })
}

/**
 * Returns the complete, verified file of an assignment. Uses an existing file, or resumes a download that was interrupted, even
 * if the process was killed.
 * @throws DeliveryFailed if the bytes keep arriving corrupted, the disk is full, or the service refuses; a transient error if
 * nothing answers
 */
export const fetchVersion = async (assignment: Assignment, context: FetchContext): Promise<KeptVersion['file']> => {
  const { device, folder, turns, signal } = context
  const { file } = assignment
  if (file === null) return null
  const { sha256, sizeBytes } = file
  const found = await folder.verify(sha256, sizeBytes)
  if (found !== null) return { sha256, sizeBytes, fileName: found }

  for (let started = false; ; ) {
    const turn = await turns.take(signal)
    let sink: FileSink | null = null
    try {
      sink = await openFileSink(await folder.partPath(sha256))
      if (!started) context.onStart(sink.received())
      started = true
      await requireSpace(context, sizeBytes - sink.received())
      const stop = anySignal(signal, turn.over)
      await device.downloadVersion(assignment, sink, { signal: stop, onVerify: context.onVerify })
      break
    } catch (error) {
      signal.throwIfAborted()
      if (turn.over.aborted) continue
      // A partial file is useless on a full disk.
      if (isFullDisk(error)) await sink?.reset().catch(() => undefined)
      throw failureOf(error) ?? error
    } finally {
      await sink?.close()
      turn.done()
    }
  }
  return { sha256, sizeBytes, fileName: await folder.adopt(sha256) }
}
