import type { VersionFormat } from '../domain/model.ts'
import type { ContainerPlan } from './container-plan.ts'
import type { Layout } from './layout.ts'
import type { ReadLimits } from './limits.ts'
import type { ByteSource, TensorPlaces } from './weight-file.ts'

/** What formats are recognized by; file names are ignored. */
export interface Sample {
  /** The first bytes of the file. */
  readonly head: Uint8Array
  readonly size: number
  /** Names of a zip archive's members; null if the file is not a zip archive. */
  readonly members: readonly string[] | null
  /** The first bytes as text; null if they are not text. */
  readonly text: string | null
}

export interface FormatDescriptor {
  /** With its article, for messages: 'a safetensors file'. */
  readonly title: string
  /** Without the dot; the first one is the default for new file names. */
  readonly extensions: readonly string[]
  /**
   * Locates the tensors. Formats that have it can be aggregated. Without `plan` or `writtenAs`, a result is a copy of a file
   * with new values in place.
   */
  read?(source: ByteSource, limits: ReadLimits): TensorPlaces
  /** Plans a new file of this format. */
  plan?(layout: Layout): ContainerPlan
  /** The format of a result when a copy cannot be patched. */
  readonly writtenAs?: 'torch-zip'
  /** Files of this format without anything to aggregate are stored unchanged, like formats without `read`. */
  readonly mayBeOpaque?: true
  /** Checks a file that is not read by following its own lengths, so that damaged files are rejected. Throws bad_request. */
  check?(source: ByteSource): void
  /** A text format, which a few float32 values can resemble by chance. */
  readonly isText?: true
  /** What to send instead, if the format cannot be aggregated. */
  readonly instead?: string
  /** Formats of catalog versions that match this content; the first one is the default. */
  readonly versions: readonly VersionFormat[]
  /** True if the content alone implies the first of `versions`. */
  readonly decides: boolean
  /** Called in the order of the table, from the most to the least certain check. */
  sniff(sample: Sample): boolean
}
