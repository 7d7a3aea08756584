import { ApiError } from '../../client/client.ts'
import { sizeWords } from '../../domain/sizes.ts'
import { type FileSink, openFileSink } from '../../platform/transfer/file-sink.ts'
import type { Assignment } from '../../sdk/assignment.ts'
import type { Device } from '../../sdk/device.ts'
import { isPassing } from '../../sdk/retry.ts'
import type { KeptVersion } from './model-state.ts'
import type { ModelFolder } from './model-store.ts'
import type { TimeSlices } from './time-slices.ts'

/** A version cannot be had or cannot be run here. The message goes to the service. */
export class DeliveryFailed extends Error {
  override readonly name = 'DeliveryFailed'
}

export interface FetchContext {
  readonly device: Pick<Device, 'downloadVersion'>
  readonly folder: ModelFolder
  /** One download at a time on this device. */
  readonly turns: TimeSlices
  readonly signal: AbortSignal
  readonly onStart: (received: number) => void
  readonly onVerify: () => void
  /** Gives up what this device can do without, if so many bytes come of it. */
  readonly makeRoom: (missing: number) => Promise<void>
}

/** The pointer and the reports want to be written too. */
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
    `The disk is full: the version needs ${sizeWords(missing)} more, but only ${sizeWords(free)} is free.`,
  )
}

const isFullDisk = (error: unknown): boolean =>
  ['ENOSPC', 'EDQUOT', 'EFBIG'].includes((error as NodeJS.ErrnoException).code ?? '')

/** Why this device's own disk refuses, without the path of a file, which concerns nobody else; null for other errors. */
const diskFault = (error: unknown): string | null => {
  if (!(error instanceof Error) || !('code' in error && 'syscall' in error && 'path' in error)) return null
  if (error.code === 'EROFS') return 'The disk is read-only'
  if (error.code === 'EACCES' || error.code === 'EPERM') return 'The agent may not write to its models folder'
  return `The disk answered '${error.message.replace(/, \w+ '.*$/s, '')}'`
}

/** True for errors that waiting a little may mend; a key that is refused may be replaced. */
const mayPass = (error: unknown): boolean => isPassing(error) || (error instanceof ApiError && error.status === 401)

/** Null for errors that waiting a little may mend; else what the service is told. */
export const failureOf = (error: unknown): DeliveryFailed | null => {
  if (isFullDisk(error))
    return new DeliveryFailed('The disk is full: the version could not be written.', { cause: error })
  if (error instanceof DeliveryFailed) return error
  if (mayPass(error)) return null
  const fault = diskFault(error)
  if (fault !== null) return new DeliveryFailed(`${fault}: the version could not be written.`, { cause: error })
  return new DeliveryFailed(error instanceof Error ? error.message : String(error), { cause: error })
}

/**
 * The complete, verified file of an assignment in its model's folder: what is there already, or a download that goes on
 * where an earlier one stopped, also one of a process that was killed. Returns the file's name. Throws DeliveryFailed when
 * the bytes keep arriving wrong, the disk is full or the service refuses; a passing error when nobody answers.
 */
export const fetchVersion = async (assignment: Assignment, context: FetchContext): Promise<KeptVersion['file']> => {
  const { device, folder, turns, signal } = context
  const { file } = assignment
  if (file === null) return null
  const { sha256, sizeBytes } = file
  const found = await folder.find(sha256, sizeBytes)
  if (found !== null) return { sha256, sizeBytes, fileName: found }

  for (let started = false; ; ) {
    const turn = await turns.take(signal)
    let sink: FileSink | null = null
    try {
      sink = await openFileSink(await folder.partPath(sha256))
      if (!started) context.onStart(sink.received())
      started = true
      await requireSpace(context, sizeBytes - sink.received())
      const stop = AbortSignal.any([signal, turn.over])
      await device.downloadVersion(assignment, sink, { signal: stop, onVerify: context.onVerify })
      break
    } catch (error) {
      signal.throwIfAborted()
      if (turn.over.aborted) continue
      // Half a file is of no use to a device without space.
      if (isFullDisk(error)) await sink?.reset().catch(() => undefined)
      throw failureOf(error) ?? error
    } finally {
      await sink?.close()
      turn.done()
    }
  }
  return { sha256, sizeBytes, fileName: await folder.adopt(sha256) }
}
